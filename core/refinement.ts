/**
 * What to do with a task after a probe (docs/refinement.md): admit it, or exactly one named action. Without other means only the statement's level
 * changes; patch and tests stay as they are.
 */
import type { Cause } from "./diagnosis.ts";
import { type Decision, direction } from "./learnability.ts";
import type { StatementLevel } from "./task.ts";

/** A probe of one statement that is decided, and what was tried before it. */
export interface ProbeOutcome {
  readonly decision: Decision;
  /** Level just probed. */
  readonly level: StatementLevel;
  /** Every level of this wording probed so far, this one included or not. */
  readonly probed: readonly StatementLevel[];
  /** Actions so far, whatever they were. */
  readonly refinements: number;
  readonly maxRefinements: number;
  readonly minLevel: StatementLevel;
  readonly maxLevel: StatementLevel;
  /** Below it a statement no longer says what the tests need; absent = 0. */
  readonly neededLevel?: StatementLevel;
  readonly cause?: Cause | null;
  /** Absent = levels alone. */
  readonly means?: Means;
  /** Names of the actions so far: but for levels and repairs, each is taken once. */
  readonly done?: readonly string[];
}

/** What can be done with this candidate beside changing the level. */
export interface Means {
  /** A model writes the statement anew. */
  readonly rewrite: boolean;
  /** The change is combined with another mistake. */
  readonly harden: boolean;
  /** Its author repairs it. */
  readonly sendBack: boolean;
  /** A task that nobody solves is climbed with hints, apart from the others. */
  readonly hint: boolean;
}

export type DropReason =
  /** The next level was probed before: it is out of band on the other side. */
  | "between-levels"
  /** Too easy with the least specific statement allowed. */
  | "too-easy-at-least-specific"
  /** Too hard with the most specific statement allowed. */
  | "too-hard-at-most-specific"
  | "refinements-spent"
  /** Diagnoses that no other statement mends, where nobody can repair the tests. */
  | "weak-tests"
  | "unsolvable";

export interface Drop {
  readonly action: "drop";
  readonly reason: DropReason;
}

export interface LevelAction {
  readonly action: "raise-level" | "lower-level";
  readonly level: StatementLevel;
}

const REWRITES = ["add-behaviour", "state-contract", "remove-localisation"] as const;

export interface RewriteAction {
  readonly action: (typeof REWRITES)[number];
  /** Of the statement that the new wording is probed with. */
  readonly level: StatementLevel;
  /** Where no wording passes the gates. */
  readonly otherwise: LevelAction | Drop;
}

export type RefinementAction =
  | { readonly action: "admit" }
  | LevelAction
  /** As histories of before actions had names hold it. */
  | { readonly action: "refine"; readonly level: StatementLevel }
  | RewriteAction
  | { readonly action: "harden" | "send-back" }
  /** From this level upwards, outside of calibration. */
  | { readonly action: "hint"; readonly level: StatementLevel }
  | Drop;

const DROP = "drop: ";

/** As a probe's record says what was done after it. */
export type ProbeDecision = Exclude<RefinementAction, Drop>["action"] | `${typeof DROP}${DropReason}`;

export function probeDecision(action: RefinementAction): ProbeDecision {
  return action.action === "drop" ? `${DROP}${action.reason}` : action.action;
}

/** Null where the candidate was not dropped. */
export function dropReasonOf(decision: ProbeDecision): DropReason | null {
  return decision.startsWith(DROP) ? (decision.slice(DROP.length) as DropReason) : null;
}

export function refinementAction(probe: ProbeOutcome): RefinementAction {
  const wanted = direction(probe.decision);
  if (wanted === "admit") return { action: "admit" };
  const levels = levelAction(probe, wanted);
  if (probe.means === undefined) return levels;
  const more = probe.refinements < probe.maxRefinements;
  const act = wanted === "too-easy" ? whenTooEasy(probe, levels, more) : whenTooHard(probe, levels, more);
  return act ?? levels;
}

/** Too easy asks for a less specific statement, too hard for a more specific one; no level is probed twice. */
function levelAction(probe: ProbeOutcome, wanted: "too-easy" | "too-hard"): LevelAction | Drop {
  const { level, minLevel, maxLevel, neededLevel = 0 } = probe;
  const next = wanted === "too-easy" ? level - 1 : level + 1;
  if (next < Math.max(minLevel, neededLevel)) return { action: "drop", reason: "too-easy-at-least-specific" };
  if (next > maxLevel) return { action: "drop", reason: "too-hard-at-most-specific" };
  if (probe.probed.some((probed) => probed === next)) return { action: "drop", reason: "between-levels" };
  if (probe.refinements >= probe.maxRefinements) return { action: "drop", reason: "refinements-spent" };
  return {
    action: wanted === "too-easy" ? "lower-level" : "raise-level",
    level: next as StatementLevel,
  };
}

/** Null = as its levels allow. */
function whenTooEasy(
  probe: ProbeOutcome,
  levels: LevelAction | Drop,
  more: boolean,
): RefinementAction | null {
  const { cause, level } = probe;
  if (cause === "weak-tests") return repaired(probe, more);
  if (cause === "shortcut" && more && probe.means?.sendBack) return { action: "send-back" };
  // From level 2 on it is the template that names the place: a level below does not.
  if (cause === "leak" && level < 2) {
    const rewrite = rewriting(probe, "remove-localisation", level, levels, more);
    if (rewrite !== null) return rewrite;
  }
  if (levels.action !== "drop") return levels;
  // One level is too much and the next too little: what lies between is more behaviour without another hint.
  if (levels.reason === "between-levels") {
    const between = rewriting(probe, "add-behaviour", (level - 1) as StatementLevel, levels, more);
    if (between !== null) return between;
  }
  return more && probe.means?.harden && !wasDone(probe, "harden") ? { action: "harden" } : null;
}

function whenTooHard(
  probe: ProbeOutcome,
  levels: LevelAction | Drop,
  more: boolean,
): RefinementAction | null {
  const { cause, decision, level, maxLevel } = probe;
  if (cause === "weak-tests" || cause === "unsolvable") return repaired(probe, more);
  if (cause === "statement-test-disagreement") {
    const stated = rewriting(probe, "state-contract", level, levels, more);
    if (stated !== null) return stated;
    if (more && probe.means?.sendBack) return { action: "send-back" };
  }
  // What does not find the place, or runs out of turns, is first shown where to look.
  const shown = cause === "does-not-find-the-place" || cause === "cut-short";
  if (!shown || levels.action === "drop") {
    const rewrite = rewriting(probe, "add-behaviour", level, levels, more);
    if (rewrite !== null) return rewrite;
  }
  const hinted = levels.action === "drop" && levels.reason === "too-hard-at-most-specific";
  if (hinted && decision === "all-fail" && probe.means?.hint && maxLevel < 3)
    return { action: "hint", level: (maxLevel + 1) as StatementLevel };
  return null;
}

/** No statement mends it: its author does, or it is dropped. */
function repaired(probe: ProbeOutcome, more: boolean): RefinementAction {
  if (more && probe.means?.sendBack) return { action: "send-back" };
  return { action: "drop", reason: probe.cause === "weak-tests" ? "weak-tests" : "unsolvable" };
}

function rewriting(
  probe: ProbeOutcome,
  action: RewriteAction["action"],
  level: StatementLevel,
  otherwise: LevelAction | Drop,
  more: boolean,
): RewriteAction | null {
  if (!more || !probe.means?.rewrite || wasDone(probe, action)) return null;
  return { action, level, otherwise };
}

const wasDone = (probe: ProbeOutcome, action: string): boolean => (probe.done ?? []).includes(action);
