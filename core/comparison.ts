/** Arms of experiments compared: learning curves, and paired differences between the policies they ended with. Pure. */
import { random } from "./random.ts";
import {
  type Estimate,
  meanPassRateInterval,
  pairedDifferenceInterval,
  type TaskResult,
} from "./statistics.ts";

/** One measurement of a policy on all held-out sets. */
export interface MeasuredPolicy {
  readonly iteration: number;
  /** By `<set>/<task>`, tasks having their content as their name: what a result is paired by. */
  readonly results: ReadonlyMap<string, TaskResult>;
}

export interface ComparedRun {
  readonly experiment: string;
  /** In order of iterations; 0 = the untrained start. */
  readonly measured: readonly MeasuredPolicy[];
}

/** Experiments that differ in their seed alone, say. */
export interface ComparedArm {
  readonly name: string;
  readonly runs: readonly ComparedRun[];
}

export interface CurvePoint extends Estimate {
  readonly iteration: number;
}

export interface ArmResult {
  readonly name: string;
  readonly experiments: readonly string[];
  readonly tasks: number;
  /** pass@1 at every iteration that all runs of the arm were measured at. */
  readonly curve: readonly CurvePoint[];
  /** Last point − first point of the curve, paired by task; null where there is one point. */
  readonly gain: Estimate | null;
  /** Last point − that of the first arm, paired by task; null for the first arm. */
  readonly difference: Estimate | null;
}

export type ComparisonErrorKind = "unmeasured" | "tasks-differ";

export class ComparisonError extends Error {
  readonly kind: ComparisonErrorKind;
  constructor(kind: ComparisonErrorKind, message: string) {
    super(message);
    this.name = "ComparisonError";
    this.kind = kind;
  }
}

/**
 * Intervals are 95 %, by a bootstrap over tasks: the runs of an arm share their tasks, so a task's samples of all of them are one unit.
 * Throws ComparisonError where a run was not measured, or on other tasks than the first.
 */
export function compareArms(arms: readonly ComparedArm[], seed = 0): ArmResult[] {
  const [first] = arms;
  const tasks = first === undefined ? [] : [...(first.runs[0]?.measured[0]?.results.keys() ?? [])].sort();
  for (const arm of arms) for (const run of arm.runs) checkRun(run, tasks, first!.runs[0]!.experiment);
  const rates = arms.map((arm) => ratesOf(arm, tasks));
  const reference = rates[0]?.at(-1)?.results;
  return arms.map(({ name, runs }, index) => {
    const points = rates[index]!;
    const [start, end] = [points[0]!.results, points.at(-1)!.results];
    // The same draws of tasks for every arm: what tells arms apart is then no luck of the draw.
    const stream = (of: string) => random(seed, "compare", of);
    return {
      name,
      experiments: runs.map(({ experiment }) => experiment),
      tasks: tasks.length,
      curve: points.map(({ iteration, results }) => ({
        iteration,
        ...meanPassRateInterval(results, stream("curve")),
      })),
      gain: points.length < 2 ? null : pairedDifferenceInterval(start, end, stream("gain")),
      difference: index === 0 ? null : pairedDifferenceInterval(reference!, end, stream("difference")),
    };
  });
}

function checkRun({ experiment, measured }: ComparedRun, tasks: readonly string[], first: string): void {
  if (measured.length === 0)
    throw new ComparisonError(
      "unmeasured",
      `${experiment} was not measured on its held-out sets yet: wait for its first evaluation`,
    );
  for (const { iteration, results } of measured) {
    const known = tasks.filter((task) => results.has(task)).length;
    if (known !== tasks.length || results.size !== tasks.length)
      throw new ComparisonError(
        "tasks-differ",
        `${experiment} was measured on other held-out tasks than ${first} (${results.size} at iteration ${iteration}, ${known} of them among its ${tasks.length}): expected equal evaluation.sets, evaluation.seed and environments`,
      );
  }
}

/** Passes and runs per task, summed over the arm's experiments, at the iterations that all of them have. */
function ratesOf(
  { name, runs }: ComparedArm,
  tasks: readonly string[],
): { readonly iteration: number; readonly results: TaskResult[] }[] {
  const shared = (runs[0]?.measured ?? [])
    .map(({ iteration }) => iteration)
    .filter((iteration) => runs.every(({ measured }) => measured.some((one) => one.iteration === iteration)));
  if (shared.length === 0)
    throw new ComparisonError(
      "unmeasured",
      `the experiments of ${name} have no measured iteration in common`,
    );
  return shared.map((iteration) => {
    const at = runs.map(({ measured }) => measured.find((one) => one.iteration === iteration)!.results);
    return { iteration, results: tasks.map((task) => sum(at.map((results) => results.get(task)!))) };
  });
}

function sum(results: readonly TaskResult[]): TaskResult {
  return results.reduce((total, { passes, runs }) => ({
    passes: total.passes + passes,
    runs: total.runs + runs,
  }));
}
