/**
 * What to do with a task after a probe (paper §3): admit it, write its statement anew one level more or less specific, or
 * drop it. Patch and tests stay as they are; only the statement changes.
 */
import { type Decision, direction } from "./learnability.ts";
import type { StatementLevel } from "./task.ts";

export interface RefinementState {
  /** Outcome of the last probe. */
  readonly decision: Decision;
  /** Levels probed so far, in order; the last is the one just decided. Not empty. */
  readonly probedLevels: readonly StatementLevel[];
  readonly minLevel: StatementLevel;
  readonly maxLevel: StatementLevel;
  readonly maxRefinements: number;
}

export type DropReason =
  /** The next level was probed before: its label is known to be out of band, on the other side. */
  | "between-levels"
  /** Too easy with the least specific statement allowed. */
  | "too-easy-at-least-specific"
  /** Too hard with the most specific statement allowed. */
  | "too-hard-at-most-specific"
  | "refinements-spent";

export type RefinementAction =
  | { readonly action: "admit" }
  | { readonly action: "refine"; readonly level: StatementLevel }
  | { readonly action: "drop"; readonly reason: DropReason };

/** Too easy asks for a less specific statement, too hard for a more specific one; no level is probed twice. */
export function refine(state: RefinementState): RefinementAction {
  const { probedLevels, minLevel, maxLevel, maxRefinements } = state;
  const level = probedLevels.at(-1);
  if (level === undefined) throw new RangeError("refine: expected at least one probed level");
  const wanted = direction(state.decision);
  if (wanted === "admit") return { action: "admit" };
  const next = wanted === "too-easy" ? level - 1 : level + 1;
  if (next < minLevel) return { action: "drop", reason: "too-easy-at-least-specific" };
  if (next > maxLevel) return { action: "drop", reason: "too-hard-at-most-specific" };
  if (probedLevels.some((probed) => probed === next)) return { action: "drop", reason: "between-levels" };
  if (probedLevels.length > maxRefinements) return { action: "drop", reason: "refinements-spent" };
  return { action: "refine", level: next as StatementLevel };
}
