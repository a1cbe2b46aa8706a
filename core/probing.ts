/**
 * Sequential probing: after which results a probe may stop, and what its pass rate is then worth (docs/method.md §3). A probe's results are read
 * in index order, and every rule depends on the counts alone, so that neither order of arrival nor concurrency changes what is decided.
 */
import {
  admittedPasses,
  type Decision,
  type Direction,
  decide,
  type LearnabilityBand,
} from "./learnability.ts";

export interface ProbePlan {
  /** N: rollouts of a complete probe. */
  readonly runs: number;
  readonly band: LearnabilityBand;
  /**
   * A probe stops once the chance that all N would admit the task is at most this (0 = once they cannot), and as admitted once they must;
   * null = never before N. In [0, 1).
   */
  readonly stopError: number | null;
  /** Passes and failures that the pass rate's beta prior is worth; both above 0, 1 and 1 = uniform. */
  readonly prior: { readonly passes: number; readonly failures: number };
}

/** The plan that an experiment's settings ask for; settings of before there were early stops have none. */
export function probePlan(filter: {
  readonly probes: number;
  readonly band: LearnabilityBand;
  readonly stopError?: number | null;
  readonly prior?: ProbePlan["prior"];
}): ProbePlan {
  const { probes: runs, band, stopError = null, prior = { passes: 1, failures: 1 } } = filter;
  return { runs, band, stopError, prior };
}

export interface Counts {
  readonly passes: number;
  readonly runs: number;
}

/** Which way a complete probe with that many passes goes. */
function directionAt(passes: number, { runs, band }: ProbePlan): Direction {
  const { min, max } = admittedPasses(runs, band);
  if (passes > max) return "too-easy";
  return passes < min ? "too-hard" : "admit";
}

/**
 * Chances of each direction at N, given what has been seen: with a beta prior of the pass rate the passes still to come are beta-binomial.
 * They are 0 exactly where no outcome of the remaining rollouts leads there.
 */
function chances(plan: ProbePlan, { passes, runs }: Counts): Record<Direction, number> {
  const left = plan.runs - runs;
  const [a, b] = [passes + plan.prior.passes, runs - passes + plan.prior.failures];
  const chance: Record<Direction, number> = { admit: 0, "too-easy": 0, "too-hard": 0 };
  // P(0 of `left` pass), then P(k + 1) / P(k).
  let weight = 1;
  for (let k = 0; k < left; k++) weight *= (b + k) / (a + b + k);
  for (let k = 0; k <= left; k++) {
    chance[directionAt(passes + k, plan)] += weight;
    weight *= ((left - k) * (a + k)) / ((k + 1) * (b + left - k - 1));
  }
  return chance;
}

/**
 * The decision of a probe after its first `runs` results, or null where it goes on. `all-pass` and `all-fail` are told of complete probes
 * alone: fewer results are weaker evidence of a shortcut, or of a task that cannot be solved.
 */
export function decideProbe(plan: ProbePlan, counts: Counts): Decision | null {
  const { passes, runs } = counts;
  if (runs > plan.runs) throw new RangeError(`${runs} results of a probe of ${plan.runs}`);
  if (runs === plan.runs) return decide(passes, runs, plan.band);
  if (plan.stopError === null || runs === 0) return null;
  const { admit, ...out } = chances(plan, counts);
  if (out["too-easy"] === 0 && out["too-hard"] === 0) return "admit";
  if (admit > plan.stopError) return null;
  return out["too-easy"] > out["too-hard"] ? "too-easy" : "too-hard";
}

/**
 * Rollouts to run before the next decision: the fewest after which there may be one, so that none is ever run that could have been
 * left out. 0 = it is decided.
 */
export function nextRollouts(plan: ProbePlan, { passes, runs }: Counts): number {
  for (let more = 0; runs + more < plan.runs; more++)
    for (let gained = 0; gained <= more; gained++)
      if (decideProbe(plan, { passes: passes + gained, runs: runs + more }) !== null) return more;
  return plan.runs - runs;
}

/**
 * Unbiased estimate of the pass rate where a plan stopped: of the orders in which these counts could have come about without an earlier stop, the
 * share that began with a pass. passes / runs is biased there: stopping early prefers extremes. At N without early stops the two are equal.
 * Source: Girshick, Mosteller and Savage (1946), https://doi.org/10.1214/aoms/1177731018
 */
export function estimatedRate(plan: ProbePlan, { passes, runs }: Counts): number {
  if (!(runs >= 1 && passes >= 0 && passes <= runs && runs <= plan.runs))
    throw new RangeError(`estimatedRate: ${passes} of ${runs} results in a probe of ${plan.runs}`);
  const all = paths(plan, { passes, runs }, { passes: 0, runs: 0 });
  if (all === 0) throw new RangeError(`a probe of ${plan.runs} never comes to ${passes} of ${runs}`);
  return paths(plan, { passes, runs }, { passes: 1, runs: 1 }) / all;
}

/** Whether a probe can end in admission at all: a `stopError` above the chance that it begins with gives up at the first result. */
export function canAdmit(plan: ProbePlan): boolean {
  return probeEnds(plan, 0.5).some(({ decision }) => decision === "admit");
}

/** Orders of results from one state to another through states in which the probe goes on. */
function paths(plan: ProbePlan, to: Counts, from: Counts): number {
  let row = new Map([[from.passes, 1]]);
  for (let runs = from.runs; runs < to.runs; runs++) {
    const next = new Map<number, number>();
    for (const [passes, count] of row) {
      if (runs > 0 && decideProbe(plan, { passes, runs }) !== null) continue;
      for (const now of [passes, passes + 1]) next.set(now, (next.get(now) ?? 0) + count);
    }
    row = next;
  }
  return row.get(to.passes) ?? 0;
}

/** A way for a probe to end, and how often it comes about at a pass rate. */
export interface ProbeEnd extends Counts {
  readonly decision: Decision;
  readonly probability: number;
}

/** Every end of a probe of tasks with this pass rate; the probabilities sum to 1. Exact: nothing is sampled. */
export function probeEnds(plan: ProbePlan, rate: number): ProbeEnd[] {
  const ends: ProbeEnd[] = [];
  let row = new Map([[0, 1]]);
  for (let runs = 0; row.size > 0; runs++) {
    const next = new Map<number, number>();
    for (const [passes, probability] of row) {
      const decision = decideProbe(plan, { passes, runs });
      if (decision !== null) {
        ends.push({ passes, runs, decision, probability });
        continue;
      }
      for (const [now, share] of [
        [passes, 1 - rate],
        [passes + 1, rate],
      ] as const)
        next.set(now, (next.get(now) ?? 0) + probability * share);
    }
    row = next;
  }
  return ends;
}
