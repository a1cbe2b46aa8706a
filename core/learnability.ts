/** Filter by learnability: which counts of passes are admitted (docs/method.md §3). */

/** Admitted when low <= passes / runs <= high, compared on counts. Paper: 0.5 .. 0.5 (iterations 1-4). */
export interface LearnabilityBand {
  readonly low: number;
  readonly high: number;
}

/** `all-pass` and `all-fail` are the extremes of `too-easy` and `too-hard`: a likely shortcut, or likely unsolvable. */
export type Decision = "admit" | "too-easy" | "too-hard" | "all-pass" | "all-fail";

/** What a decision asks for, without its extremes. */
export type Direction = Exclude<Decision, "all-pass" | "all-fail">;

/** Bounds are written as decimals (0.29, 0.7) whose product with a count of runs may miss a whole number by rounding. */
const ROUNDING = 1e-9;

/**
 * The smallest and the largest count of passes that is admitted. All pass and all fail never are: such a group has no
 * variance to learn from, so a band of 0 .. 1 means the paper's general region 0 < p < 1. `min > max` = no count is.
 */
export function admittedPasses(runs: number, band: LearnabilityBand): { min: number; max: number } {
  return {
    min: Math.max(1, Math.ceil(band.low * runs - ROUNDING)),
    max: Math.min(runs - 1, Math.floor(band.high * runs + ROUNDING)),
  };
}

/** The decision on `passes` of `runs` complete rollouts. Throws on counts that cannot be. */
export function decide(passes: number, runs: number, band: LearnabilityBand): Decision {
  if (!Number.isInteger(passes) || !Number.isInteger(runs) || runs < 1 || passes < 0 || passes > runs)
    throw new RangeError(
      `decide(${passes}, ${runs}): expected whole counts with 0 <= passes <= runs, runs >= 1`,
    );
  if (passes === 0) return "all-fail";
  if (passes === runs) return "all-pass";
  const { min, max } = admittedPasses(runs, band);
  // Above first: where no count is admitted (min > max) the side is still told by the upper bound.
  if (passes > max) return "too-easy";
  return passes < min ? "too-hard" : "admit";
}

export function direction(decision: Decision): Direction {
  if (decision === "all-pass") return "too-easy";
  return decision === "all-fail" ? "too-hard" : decision;
}
