/** How near an agent's change came to the intended one: its lines, its functions, its files. For diagnoses; no reward rests on it. */
import type { Reach } from "../../core/diagnosis.ts";
import type { FileChange, Task } from "../../core/task.ts";
import { languageOf } from "../languages/index.ts";
import { baseText } from "./base-tree.ts";
import { textsOf } from "./changes.ts";
import { type Hunk, hunksOf } from "./gates/hunks.ts";

/** Lines beside the intended ones that still count as the same place. */
const NEAR = 3;

export interface Reached {
  readonly reach: Reach;
  /** Source lines that the agent's change, and the intended one, add or remove. */
  readonly lines: number;
  readonly goldLines: number;
}

/** `root` is the environment's snapshot. Files that only one of the two changes count for `lines`, not for the place. */
export function reachOf(
  root: string,
  task: Pick<Task, "base" | "gold">,
  change: readonly FileChange[],
): Reached {
  const before = baseText(root, task.base);
  const byFile = (changes: readonly FileChange[]): Map<string, readonly Hunk[]> => {
    const after = textsOf(changes);
    return new Map(changes.map(({ path }) => [path, hunksOf(path, before(path), after.get(path) ?? "")]));
  };
  const [gold, made] = [byFile(task.gold), byFile(change)];
  const total = (all: Map<string, readonly Hunk[]>): number =>
    [...all.values()].flat().reduce((sum, { start, end, lines }) => sum + (end - start) + lines.length, 0);
  const counted = { lines: total(made), goldLines: total(gold) };
  const shared = [...gold].flatMap(([path, intended]) => {
    const own = made.get(path) ?? [];
    return own.length === 0 ? [] : [{ path, intended, own }];
  });
  if (shared.length === 0) return { reach: "none", ...counted };
  if (shared.some(({ intended, own }) => own.some((one) => intended.some((other) => near(one, other)))))
    return { reach: "lines", ...counted };
  const inFunction = shared.some(({ path, intended, own }) => {
    const around = functionsAround(path, before(path), intended);
    return [...functionsAround(path, before(path), own)].some((key) => around.has(key));
  });
  return { reach: inFunction ? "function" : "file", ...counted };
}

const near = (a: Hunk, b: Hunk): boolean => a.start < b.end + NEAR && b.start < a.end + NEAR;

/** Innermost functions that hunks stand in, by their starts; code outside of any is no place. */
function functionsAround(path: string, text: string, hunks: readonly Hunk[]): Set<number> {
  // The first is the whole source.
  const functions = (languageOf(path)?.functions(text) ?? []).slice(1);
  const found = new Set<number>();
  for (const { start } of hunks) {
    const inner = functions.findLast(
      ({ startLine, endLine }) => startLine <= start + 1 && start + 1 <= endLine,
    );
    if (inner !== undefined) found.add(inner.start);
  }
  return found;
}
