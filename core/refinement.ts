/**
 * What to do with a task after a probe (docs/method.md §3): admit it, write its statement anew one level more or less specific, or
 * drop it. Patch and tests stay as they are; only the statement changes.
 */
import { type Decision, direction } from "./learnability.ts";
import type { StatementLevel } from "./task.ts";

/** A probe of one statement that is decided, and what was tried before it. */
export interface ProbeOutcome {
  readonly decision: Decision;
  /** Level just probed. */
  readonly level: StatementLevel;
  /** Every level probed so far, this one included or not. */
  readonly probed: readonly StatementLevel[];
  /** Statements rewritten so far. */
  readonly refinements: number;
  readonly maxRefinements: number;
  readonly minLevel: StatementLevel;
  readonly maxLevel: StatementLevel;
}

export type DropReason =
  /** The next level was probed before: it is out of band on the other side. */
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
export function refinementAction(probe: ProbeOutcome): RefinementAction {
  const wanted = direction(probe.decision);
  if (wanted === "admit") return { action: "admit" };
  const next = wanted === "too-easy" ? probe.level - 1 : probe.level + 1;
  if (next < probe.minLevel) return { action: "drop", reason: "too-easy-at-least-specific" };
  if (next > probe.maxLevel) return { action: "drop", reason: "too-hard-at-most-specific" };
  if (probe.probed.some((level) => level === next)) return { action: "drop", reason: "between-levels" };
  if (probe.refinements >= probe.maxRefinements) return { action: "drop", reason: "refinements-spent" };
  return { action: "refine", level: next as StatementLevel };
}
