/** Mounts deep inside folders that the sandbox may write to: tests beside their sources. Pure. */
import type { SandboxSpec } from "../runtime.ts";

type Mounts = SandboxSpec["mounts"];

const isUnder = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** Per mount that lies deeper than one level in a writable folder: its target and the folders on the way, outermost first. */
function deep(mounts: Mounts, writable: readonly string[]) {
  return mounts.flatMap(({ target }) => {
    const folder = writable.find((folder) => isUnder(target, folder));
    // What lies in another mount is that one's: nobody can move it, and it is no folder of the sandbox.
    if (folder === undefined || mounts.some((other) => isUnder(target, other.target))) return [];
    const parts = target.slice(folder.length + 1).split("/");
    const parents = parts.slice(1).map((_, depth) => `${folder}/${parts.slice(0, depth + 1).join("/")}`);
    return parents.length === 0 ? [] : [{ target, parents }];
  });
}

/** Folders that the daemon makes, as root, on the way to mount points. */
export const mountParents = (mounts: Mounts, writable: readonly string[]): string[] => [
  ...new Set(deep(mounts, writable).flatMap(({ parents }) => parents)),
];

/** Mount points that can be moved away with a folder they lie in; a mount point itself cannot be. */
export const movableMounts = (mounts: Mounts, writable: readonly string[]): string[] =>
  deep(mounts, writable).map(({ target }) => target);

/** The real path of the working tree (in an image the way to it may lead through links), then the kernel's list of mounts. */
export const LIST_MOUNTS = "pwd -P && exec cat /proc/self/mountinfo";

/**
 * Those of `targets` where nothing is mounted any more: the kernel's list follows a folder that is renamed. `listed` is what LIST_MOUNTS printed in
 * the working tree, a character per byte.
 */
export function movedMounts(listed: string, workdir: string, targets: readonly string[]): string[] {
  const [real = "", ...lines] = listed.split("\n");
  const points = new Set(
    lines.map((line) => (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, code) => octal(code))),
  );
  const realPath = (target: string) =>
    isUnder(target, workdir) ? real + latin1(target.slice(workdir.length)) : latin1(target);
  return targets.filter((target) => !points.has(realPath(target)));
}

const latin1 = (path: string): string => Buffer.from(path, "utf8").toString("latin1");

const octal = (code: string): string => String.fromCharCode(Number.parseInt(code, 8));
