/** Where a path of the sandbox lies on the host: links are followed as the sandbox would see them, never out of it. */
import { lstatSync, readlinkSync } from "node:fs";

/** A host folder and where the sandbox sees it. */
export interface Root {
  readonly at: string;
  readonly host: string;
  readonly writable: boolean;
}

export type Place =
  /** Under a root. `missing` counts the trailing components that do not exist; `host` is the full host path. */
  | {
      readonly kind: "host";
      readonly root: Root;
      readonly host: string;
      readonly missing: number;
      readonly inside: string;
    }
  /** Somewhere else in the sandbox, where only a command can look. */
  | { readonly kind: "outside"; readonly inside: string };

/** Linux gives up after 40 links as well. */
const MAX_LINKS = 40;

export class PosixError extends Error {
  readonly code: string;
  constructor(code: string, path: string) {
    super(`${code}: ${path}`);
    this.name = "PosixError";
    this.code = code;
  }
}

/**
 * Resolves `path` component by component. Only safe while no process of the sandbox runs, which the sandbox ensures.
 * Throws PosixError ENOENT (a `..` below something missing), ENOTDIR, ELOOP.
 */
export function resolvePath(roots: readonly Root[], workdir: string, path: string): Place {
  if (path.includes("\0")) throw new PosixError("EINVAL", JSON.stringify(path));
  const rest = (path.startsWith("/") ? path : `${workdir}/${path}`).split("/").reverse();
  const mustBeFolder = /\/\.?$/.test(path);
  let parts: string[] = [];
  let missing = 0;
  let links = 0;
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (part === "" || part === ".") continue;
    if (missing > 0) {
      if (part === "..") throw new PosixError("ENOENT", path);
      parts.push(part);
      missing++;
      continue;
    }
    if (part === "..") {
      parts.pop();
      continue;
    }
    parts.push(part);
    const inside = `/${parts.join("/")}`;
    const place = locate(roots, inside);
    if (place === undefined) return { kind: "outside", inside: [inside, ...rest.reverse()].join("/") };
    const stat = lstatSync(place.host, { throwIfNoEntry: false });
    if (stat === undefined) missing = 1;
    else if (stat.isSymbolicLink() && place.host !== place.root.host) {
      if (++links > MAX_LINKS) throw new PosixError("ELOOP", path);
      const target = readlinkSync(place.host);
      if (target.startsWith("/")) parts = [];
      else parts.pop();
      rest.push(...target.split("/").reverse());
    } else if (!stat.isDirectory() && (rest.some((later) => later !== "") || mustBeFolder))
      throw new PosixError("ENOTDIR", path);
  }
  const inside = `/${parts.join("/")}`;
  const place = locate(roots, inside);
  if (place === undefined) return { kind: "outside", inside };
  return { kind: "host", ...place, missing, inside };
}

/** The innermost root that holds the path. */
function locate(roots: readonly Root[], inside: string): { root: Root; host: string } | undefined {
  let best: Root | undefined;
  for (const root of roots)
    if ((inside === root.at || inside.startsWith(`${root.at}/`)) && root.at.length > (best?.at.length ?? 0))
      best = root;
  return best && { root: best, host: best.host + inside.slice(best.at.length) };
}
