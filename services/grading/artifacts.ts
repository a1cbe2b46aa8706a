/** What a verifier of another image gets of the agent's box: files, folders and links that stay inside, whatever the archive says. Pure. */
import { posix } from "node:path";
import { type TarEntry, untar } from "../sandbox/index.ts";

/** Of all artifacts of one solution together. */
export interface ArtifactLimits {
  readonly bytes: number;
  readonly entries: number;
}

export const ARTIFACT_LIMITS: ArtifactLimits = { bytes: 128 * 1024 * 1024, entries: 20_000 };

/** Linux's own limits: what exceeds them was written by no tar. */
const NAME_BYTES = 255;
const PATH_BYTES = 4095;

export interface Artifact {
  /** Absolute, without a slash at its end. */
  readonly source: string;
  readonly kind: "folder" | "file";
  /** Paths relative to `/`, folders before what is in them, links last. */
  readonly entries: readonly TarEntry[];
}

/**
 * `archive` holds the content of the folder, or the one file by its name. Left out are links that lead out, pipes, devices and sockets,
 * names that are not UTF-8, and entries that no real folder could have. Throws ArchiveError.
 */
export function artifactOf(source: string, kind: Artifact["kind"], archive: Uint8Array): Artifact {
  const found = new Map<string, TarEntry>();
  const add = (entry: TarEntry) => found.set(entry.path, entry);
  for (const { path: name, type, content, target, executable } of untar(archive)) {
    const path = insideOf(name);
    if (path === undefined) continue;
    if (type === "file") add({ type, path, content, executable });
    else if (kind === "file") continue;
    else if (type === "directory") add({ type, path });
    else if (type === "symlink" && staysInside(path, target)) add({ type, path, target });
  }
  const entries = [...found.values()].filter(({ path }) =>
    parentsOf(path).every((parent) => isFolder(found.get(parent))),
  );
  const only = kind === "file" ? entries.filter(({ path }) => path === posix.basename(source)) : entries;
  const root = (kind === "file" ? posix.dirname(source) : source).slice(1);
  return {
    source,
    kind,
    entries: only
      .sort(byOrder)
      .map((entry) => ({ ...entry, path: root === "" ? entry.path : `${root}/${entry.path}` })),
  };
}

/** The path in its shortest form; undefined for the folder itself, what leads out, and names that are none. */
function insideOf(name: string): string | undefined {
  const path = posix.normalize(name).replace(/\/+$/, "");
  if (path === "." || path === "" || path.startsWith("/") || path.split("/").includes("..")) return undefined;
  if (path.includes("\uFFFD") || Buffer.byteLength(path) > PATH_BYTES) return undefined;
  return path.split("/").some((part) => Buffer.byteLength(part) > NAME_BYTES) ? undefined : path;
}

/** Ways up come first, from a folder that is no link: behind a link of the archive's own, `..` could be anywhere. */
function staysInside(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/") || Buffer.byteLength(target) > PATH_BYTES) return false;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const names = parts.findIndex((part) => part !== "..");
  const up = names === -1 ? parts.length : names;
  return up <= parentsOf(path).length && !parts.slice(up).includes("..");
}

function parentsOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, depth + 1).join("/"));
}

/** Folders that no entry names are made on the way. */
const isFolder = (entry: TarEntry | undefined): boolean => entry === undefined || entry.type === "directory";

const RANK = { directory: 0, file: 1, symlink: 2 } as const;

const byOrder = (a: TarEntry, b: TarEntry): number =>
  RANK[a.type] - RANK[b.type] || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

export function isTooLarge(
  artifacts: readonly Artifact[],
  { bytes: most, entries }: ArtifactLimits,
): boolean {
  const all = artifacts.flatMap(({ entries }) => entries);
  const bytes = all.reduce((sum, entry) => sum + (entry.type === "file" ? entry.content.length : 0), 0);
  return bytes > most || all.length > entries;
}
