/**
 * Why a probe is out of band: one named cause and what it rests on, from summaries of its rollouts (docs/refinement.md). Pure; it counts, and knows
 * neither texts nor trees.
 */
import { type Decision, direction } from "./learnability.ts";
import type { StatementLevel, VerdictRule } from "./task.ts";

export const CAUSES = [
  /** Passes that leave the intended files alone: the tests accept what they should not. */
  "weak-tests",
  /** Passes by another, smaller way than the intended change. */
  "shortcut",
  /** The statement says where the change belongs, more than its tests need. */
  "leak",
  "too-easy",
  /** Even the intended change fails, or nothing that was tried could be judged by its tests. */
  "unsolvable",
  /** What the statement shows is satisfied, and the same hidden test fails all the same. */
  "statement-test-disagreement",
  /** Limits ended most of the failures. */
  "cut-short",
  "does-not-find-the-place",
  "too-hard",
] as const;
export type Cause = (typeof CAUSES)[number];

export interface Diagnosis {
  readonly cause: Cause;
  /** One sentence with the counts that it rests on. */
  readonly evidence: string;
}

/**
 * How near a change came to the intended one: its lines, give or take a few; the same function; the same file; another. `none` is also a change
 * of nothing.
 */
export type Reach = "lines" | "function" | "file" | "none";

export interface RolloutSummary {
  readonly passed: boolean;
  /** A limit ended it. */
  readonly truncated: boolean;
  readonly rule: VerdictRule | null;
  /** Null where it is not known: verdicts of before it was noted. */
  readonly reach: Reach | null;
  /** Source lines that it added or removed; null where it is not known. */
  readonly lines: number | null;
  /** Hash of the tree that it ended with. */
  readonly tree: string;
  /** Hidden tests that did not pass. */
  readonly failing: readonly string[];
  readonly flags: readonly string[];
  readonly ranTests: boolean;
  /** The statement's command printed what it should after a change; null where no such command is shown. */
  readonly reproduced: boolean | null;
}

export interface Symptoms {
  readonly decision: Decision;
  readonly level: StatementLevel;
  readonly neededLevel: StatementLevel;
  /** What the statement says of the place beyond what the tests need. */
  readonly names: "place" | "function" | null;
  /** Source lines that the intended change adds or removes; null where it is not known. */
  readonly goldLines: number | null;
  /** In the order of their members; empty where none is on record. */
  readonly rollouts: readonly RolloutSummary[];
}

/** Rules of grading by which no test was judged. */
const UNJUDGED: ReadonlySet<VerdictRule | null> = new Set(["timeout", "killed", "no-tests-parsed"]);

/** A change this much smaller than the intended one is another. */
const SMALLER = 3;

const several = (count: number, of: readonly unknown[], what: string): string =>
  `${count} of ${of.length} ${what}`;
const most = (count: number, of: readonly unknown[]): boolean => count > 0 && 2 * count > of.length;
const atThePlace = ({ reach }: RolloutSummary): boolean => reach === "lines" || reach === "function";

/** Of a probe that is not admitted; null of one that is. */
export function diagnose(symptoms: Symptoms): Diagnosis | null {
  const side = direction(symptoms.decision);
  if (side === "admit") return null;
  const weak = weakTests(symptoms);
  if (weak !== null) return weak;
  return side === "too-easy" ? ofPasses(symptoms) : ofFailures(symptoms);
}

function weakTests({ rollouts }: Symptoms): Diagnosis | null {
  const passes = rollouts.filter(({ passed }) => passed);
  const skipped = passes.filter(({ reach }) => reach === "none").length;
  if (skipped > 0)
    return {
      cause: "weak-tests",
      evidence: `${several(skipped, passes, "passes")} leave the files of the intended change alone`,
    };
  const special = passes.filter(({ flags }) => flags.includes("special-casing")).length;
  if (!most(special, passes)) return null;
  return {
    cause: "weak-tests",
    evidence: `${several(special, passes, "passes")} hold answers of the hidden tests`,
  };
}

function ofPasses({ rollouts, names, level, neededLevel, goldLines }: Symptoms): Diagnosis {
  const passes = rollouts.filter(({ passed }) => passed);
  const besides = passes.filter(({ reach }) => reach === "file").length;
  if (most(besides, passes))
    return {
      cause: "shortcut",
      evidence: `${several(besides, passes, "passes")} change neither the lines nor the functions of the intended change`,
    };
  const [first] = passes;
  const alike = passes.length > 1 && passes.every(({ tree }) => tree === first?.tree);
  if (alike && goldLines !== null && first?.lines != null && first.lines * SMALLER <= goldLines)
    return {
      cause: "shortcut",
      evidence: `all ${passes.length} passes make the same change of ${first.lines} lines, where ${goldLines} were intended`,
    };
  if (names !== null && level > neededLevel)
    return {
      cause: "leak",
      evidence: `at level ${level} the statement names the ${names}; level ${neededLevel} says what the tests need`,
    };
  return {
    cause: "too-easy",
    evidence:
      rollouts.length === 0
        ? "no rollout is on record"
        : `${several(passes.length, rollouts, "rollouts")} pass, by changes at the intended place`,
  };
}

function ofFailures({ rollouts }: Symptoms): Diagnosis {
  const failures = rollouts.filter(({ passed }) => !passed);
  const count = (holds: (one: RolloutSummary) => boolean): number => failures.filter(holds).length;
  const upstream = count(({ flags }) => flags.includes("patch-equals-upstream"));
  if (upstream > 0)
    return {
      cause: "unsolvable",
      evidence: `${several(upstream, failures, "failures")} made the reference change`,
    };
  const unjudged = count((one) => atThePlace(one) && UNJUDGED.has(one.rule));
  if (most(unjudged, failures))
    return {
      cause: "unsolvable",
      evidence: `${several(unjudged, failures, "failures")} changed the right place, and no test could be judged`,
    };
  const satisfied = failures.filter((one) => atThePlace(one) && one.reproduced === true);
  const shared = satisfied[0]?.failing.find((name) =>
    satisfied.every(({ failing }) => failing.includes(name)),
  );
  if (most(satisfied.length, failures) && satisfied.length > 1 && shared !== undefined)
    return {
      cause: "statement-test-disagreement",
      evidence: `${several(satisfied.length, failures, "failures")} print what the statement asks for and fail the same hidden test: ${shared}`,
    };
  const truncated = count((one) => one.truncated);
  if (most(truncated, failures))
    return {
      cause: "cut-short",
      evidence: `${several(truncated, failures, "failures")} were ended by a limit`,
    };
  const elsewhere = count(({ reach }) => reach === "none" || reach === "file");
  if (most(elsewhere, failures))
    return {
      cause: "does-not-find-the-place",
      evidence: `${several(elsewhere, failures, "failures")} change neither the lines nor the functions of the intended change`,
    };
  const untested = count(({ ranTests }) => !ranTests);
  return {
    cause: "too-hard",
    evidence:
      rollouts.length === 0
        ? "no rollout is on record"
        : `${several(failures.length, rollouts, "rollouts")} fail: ${count(atThePlace)} at the right place, ${untested} without running a test`,
  };
}
