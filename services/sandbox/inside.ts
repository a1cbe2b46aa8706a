/** What a sandbox is to its commands, whichever runtime made it: paths, variables, bounds. */
import { SandboxError, type SandboxSpec } from "./runtime.ts";

/** The working tree, where it does not lie in an image. */
export const WORKDIR = "/repo";

/** A script every Node program inside loads first; see skeleton.ts. */
export const REPEATABLE_PATH = "/usr/local/bin/.repeatable.cjs";

/** More files than this are a full disk whatever their size. */
export const MAX_ENTRIES = 200_000;

/** A bigger file is not read into memory: EFBIG. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

const BASE_ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  TZ: "UTC",
  TERM: "dumb",
  NODE_OPTIONS: `--require=${REPEATABLE_PATH}`,
} as const;

export const commandEnv = (spec: Pick<SandboxSpec, "env">): Record<string, string> => ({
  ...BASE_ENV,
  ...spec.env,
});

/** Of a path in the working tree; any other stays absolute. */
export const relativeTo = (workdir: string, inside: string): string =>
  inside.startsWith(`${workdir}/`) ? inside.slice(workdir.length + 1) : inside;

/** Relative paths of the mounts inside the working tree. */
export const mountsIn = (workdir: string, mounts: SandboxSpec["mounts"]): Set<string> =>
  new Set(
    mounts
      .filter(({ target }) => target.startsWith(`${workdir}/`))
      .map(({ target }) => relativeTo(workdir, target)),
  );

/** Throws SandboxError `path`. */
export function refuseUnderMounts(workdir: string, { mounts, overlay }: SandboxSpec): void {
  const inTree = [...mountsIn(workdir, mounts)];
  const change = overlay.find(({ path }) =>
    inTree.some((mount) => path === mount || path.startsWith(`${mount}/`)),
  );
  if (change !== undefined)
    throw new SandboxError(
      "path",
      `the overlay writes under a read-only mount: ${JSON.stringify(change.path)}`,
    );
}
