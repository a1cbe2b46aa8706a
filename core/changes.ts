/** Changes of a tree as values. */
import type { FileChange } from "./task.ts";

/** One change after the other as one: each path once, the later change of it, sorted by path. */
export function composeChanges(first: readonly FileChange[], then: readonly FileChange[]): FileChange[] {
  const byPath = new Map([...first, ...then].map((change) => [change.path, change]));
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
