/**
 * Probes that may stop early against complete ones: rollouts per admitted task, how many of the groups that follow would teach nothing, and the
 * bias of the labels. Exact sums over pass rates, and the results of real rollouts read again: no rollout is made, nothing is sampled.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LearnabilityBand } from "../core/learnability.ts";
import { type Counts, decideProbe, estimatedRate, type ProbePlan, probeEnds } from "../core/probing.ts";
import { type BenchContext, type Measure, measure } from "./bench.ts";

/** Beta distributions of the pass rates of candidates. */
const SHAPES = {
  "all or nothing": { passes: 0.3, failures: 0.3 },
  uniform: { passes: 1, failures: 1 },
  middling: { passes: 2, failures: 2 },
  hard: { passes: 0.5, failures: 2 },
} as const;

const N = 8;
const GENERAL: LearnabilityBand = { low: 0, high: 1 };
const HALF: LearnabilityBand = { low: 0.5, high: 0.5 };
/** Of the general region; the paper's half has a chance of one in nine before the first rollout where all rates are equally likely. */
const STOP_ERRORS = { general: 0.25, half: 0.02 };
const GOAL = 0.6;
const ROUNDING = 1e-9;
/** Two sums that are equal on paper. */
const NO_MORE = 1.001;
/** Midpoints: no shape's poles are met. */
const RATES = Array.from({ length: 1000 }, (_, i) => (i + 0.5) / 1000);

export async function run(_: BenchContext): Promise<readonly Measure[]> {
  const measures: Measure[] = [];
  for (const [name, prior] of Object.entries(SHAPES)) {
    const plan = { runs: N, band: GENERAL, stopError: STOP_ERRORS.general, prior };
    measures.push(...compared(`0 < p < 1, ${name}`, plan, GOAL));
  }
  for (const [name, prior] of Object.entries(SHAPES)) {
    const plan = { runs: N, band: HALF, stopError: STOP_ERRORS.half, prior };
    measures.push(...compared(`p = 1/2, ${name}`, plan, null));
  }
  const recorded = recordedProbes();
  const known = { runs: N, prior: fittedPrior(recorded) };
  measures.push(
    ...compared(
      "0 < p < 1, recorded probes",
      { ...known, band: GENERAL, stopError: STOP_ERRORS.general },
      GOAL,
      (plan) => replayed(plan, recorded),
    ),
    ...compared(
      "p = 1/2, recorded probes",
      { ...known, band: HALF, stopError: STOP_ERRORS.half },
      null,
      (plan) => replayed(plan, recorded),
    ),
  );
  return [...measures, ...biases()];
}

/** Passes (1) and failures (0) of one probe of 2 N rollouts, in the order of their indices. */
type Results = readonly number[];

/** Of a real run; the file says which. */
function recordedProbes(): readonly Results[] {
  const file = join(import.meta.dirname, "recorded-probes.json");
  const { probes } = JSON.parse(readFileSync(file, "utf8")) as { probes: readonly string[] };
  return probes.map((results) => [...results].map(Number));
}

/** Beta distribution with the record's mean and variance of pass rates, what chance adds to the variance taken out (beta-binomial moments). */
function fittedPrior(probes: readonly Results[]): ProbePlan["prior"] {
  const runs = 2 * N;
  const rates = probes.map((results) => results.reduce((sum, one) => sum + one, 0) / runs);
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const variance = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / (rates.length - 1);
  const correlation = ((variance * runs) / (mean * (1 - mean)) - 1) / (runs - 1);
  const worth = 1 / correlation - 1;
  return { passes: mean * worth, failures: (1 - mean) * worth };
}

/**
 * What a plan makes of recorded results: the first N are its probe, the other N the group that follows. A rollout's index says nothing of its result,
 * so every rotation is as good a record as the first: all of them are read.
 */
function replayed(plan: ProbePlan, probes: readonly Results[]): Expectation {
  let [rollouts, admitted, uniform] = [0, 0, 0];
  for (const results of probes)
    for (let start = 0; start < results.length; start++) {
      const turned = [...results.slice(start), ...results.slice(0, start)];
      const { runs, admits } = readProbe(plan, turned.slice(0, plan.runs));
      rollouts += runs;
      if (!admits) continue;
      admitted++;
      if (new Set(turned.slice(plan.runs)).size === 1) uniform++;
    }
  return { rollouts: rollouts / admitted, uniformGroups: uniform / admitted };
}

function readProbe(plan: ProbePlan, results: Results): { readonly runs: number; readonly admits: boolean } {
  let passes = 0;
  for (const [i, result] of results.entries()) {
    passes += result;
    const decision = decideProbe(plan, { passes, runs: i + 1 });
    if (decision !== null) return { runs: i + 1, admits: decision === "admit" };
  }
  throw new Error(`a probe of ${results.length} results decides nothing`);
}

function compared(
  name: string,
  plan: ProbePlan,
  goal: number | null,
  of: (plan: ProbePlan) => Expectation = expectation,
): Measure[] {
  const stopping = of(plan);
  const complete = of({ ...plan, stopError: null });
  return [
    measure({
      name: `rollouts per admitted task, ${name}`,
      value: stopping.rollouts,
      unit: "",
      reference: complete.rollouts,
      better: "lower",
      goal,
    }),
    measure({
      name: `later groups without variance, ${name}`,
      value: stopping.uniformGroups,
      unit: "",
      reference: complete.uniformGroups,
      better: "lower",
      goal: NO_MORE,
    }),
  ];
}

interface Expectation {
  /** Rollouts of all probes per admitted task. */
  readonly rollouts: number;
  /** Share of the groups of N of admitted tasks that are all passes or all failures. */
  readonly uniformGroups: number;
}

function expectation(plan: ProbePlan): Expectation {
  const { passes, failures } = plan.prior;
  let [rollouts, admitted, uniform] = [0, 0, 0];
  for (const rate of RATES) {
    const density = rate ** (passes - 1) * (1 - rate) ** (failures - 1);
    for (const { probability, runs, decision } of probeEnds(plan, rate)) {
      rollouts += density * probability * runs;
      if (decision !== "admit") continue;
      admitted += density * probability;
      uniform += density * probability * (rate ** N + (1 - rate) ** N);
    }
  }
  return { rollouts: rollouts / admitted, uniformGroups: uniform / admitted };
}

function biases(): Measure[] {
  const prior = SHAPES.uniform;
  const plans = {
    "0 < p < 1": { runs: N, band: GENERAL, stopError: STOP_ERRORS.general, prior },
    "p = 1/2": { runs: N, band: HALF, stopError: STOP_ERRORS.half, prior },
  };
  return Object.entries(plans).map(([name, plan]) =>
    measure({
      name: `greatest bias of the pass rate, ${name}, against passes / runs`,
      value: greatestBias(plan, (end) => estimatedRate(plan, end)),
      unit: "",
      reference: greatestBias(plan, ({ passes, runs }) => passes / runs),
      better: "lower",
      goal: ROUNDING,
    }),
  );
}

/** Greatest distance between the mean of a label and the true pass rate. */
function greatestBias(plan: ProbePlan, label: (end: Counts) => number): number {
  const distances = RATES.map((rate) => {
    const mean = probeEnds(plan, rate).reduce((sum, end) => sum + end.probability * label(end), 0);
    return Math.abs(mean - rate);
  });
  return Math.max(...distances);
}
