/** The history of a box whose environment has one: that of the tree the agent starts from, not of the untouched one. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../core/task.ts";
import { assertHistory, snapshotOf } from "./snapshot.ts";
import { readTree, type Tree } from "./tree.ts";
import type { PreparedEnvironment } from "./types.ts";

const isHistory = (path: string): boolean => path === ".git" || path.startsWith(".git/");

/** A change without what git's own commands wrote: its index carries times and inodes. */
export function withoutHistory(changes: readonly FileChange[]): readonly FileChange[] {
  return changes.filter(({ path }) => !isHistory(path));
}

interface WithLinks {
  readonly files: Map<string, Uint8Array>;
  readonly links: Map<string, string>;
}

/** The host's copies of environments have no links; a change may bring some. */
function applied(tree: Tree, changes: readonly FileChange[]): WithLinks {
  const files = new Map(tree);
  const links = new Map<string, string>();
  for (const change of changes) {
    files.delete(change.path);
    links.delete(change.path);
    if (change.kind === "write") files.set(change.path, Buffer.from(change.content, change.encoding));
    if (change.kind === "symlink") links.set(change.path, change.target);
  }
  return { files, links };
}

/**
 * What to change beside `overlay` so that the one commit of the box is the tree with `overlay` in it: the untouched tree's commit would hold
 * what a task has taken away. Empty where the environment has no history.
 */
export async function historyOverlay(
  environment: Pick<PreparedEnvironment, "key" | "root">,
  overlay: readonly FileChange[],
): Promise<readonly FileChange[]> {
  if (!existsSync(join(environment.root, ".git"))) return [];
  const before = await readTree(environment.root);
  const given = overlay.filter(({ path }) => !isHistory(path));
  const plain = new Map([...before].filter(([path]) => !isHistory(path)));
  const { files, links } = applied(plain, given);
  const history = snapshotOf(files, links);
  const changes: FileChange[] = [
    ...[...before.keys()]
      .filter((path) => isHistory(path) && !history.has(path))
      .map((path): FileChange => ({ kind: "delete", path })),
    ...[...history].map(
      ([path, content]): FileChange => ({
        kind: "write",
        path,
        content: Buffer.from(content).toString("base64"),
        encoding: "base64",
      }),
    ),
  ];
  // What the box will hold, the environment's own history in it: nothing of that may be left.
  const box = applied(before, [...given, ...changes]);
  assertHistory(environment.key, box.files, "one", box.links);
  return changes;
}
