/** What an author did to the tree, as changes of the environment's snapshot. */
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange } from "../../core/task.ts";
import { contentOf, encode } from "../sandbox/index.ts";

function present(root: string, path: string): boolean {
  return lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;
}

const isExecutable = (file: string): boolean => (lstatSync(file).mode & 0o100) !== 0;

/** True where the snapshot is like that already. */
function changesNothing(root: string, change: FileChange): boolean {
  if (change.kind === "symlink") return false;
  if (!present(root, change.path)) return change.kind === "delete";
  if (change.kind === "delete") return false;
  const file = join(root, change.path);
  return contentOf(change).equals(readFileSync(file)) && isExecutable(file) === (change.executable ?? false);
}

/** The changes of a sandbox that began as `root` with `given` in it, as changes of `root` alone. */
export function sinceSnapshot(
  root: string,
  given: readonly FileChange[],
  changes: readonly FileChange[],
): FileChange[] {
  return composeChanges(given, changes).filter((change) => !changesNothing(root, change));
}

/** What makes the snapshot again of the tree with `changes` in it. */
export function wayBack(root: string, changes: readonly FileChange[]): FileChange[] {
  return changes.map(({ path }): FileChange => {
    const file = join(root, path);
    if (!existsSync(file)) return { kind: "delete", path };
    const executable = isExecutable(file);
    return { kind: "write", path, ...encode(readFileSync(file)), ...(executable && { executable }) };
  });
}
