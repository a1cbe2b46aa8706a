/** Intervals and estimates for pass rates. Rates lie in [0, 1]; a task, not a sample, is the unit that is resampled. */
import type { RandomStream } from "./random.ts";

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface Estimate extends Interval {
  readonly mean: number;
}

/** Passed samples of one task. */
export interface TaskResult {
  readonly passes: number;
  readonly runs: number;
}

/** 97.5 % quantile of the standard normal distribution. */
const Z_95 = 1.959963984540054;

/**
 * Wilson score interval of a proportion, 95 % unless `z` says otherwise.
 * Source: Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953
 */
export function wilson(passes: number, runs: number, z = Z_95): Interval {
  if (!(runs > 0)) return { low: 0, high: 1 };
  const rate = passes / runs;
  const scale = 1 + (z * z) / runs;
  const centre = (rate + (z * z) / (2 * runs)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / runs + (z * z) / (4 * runs * runs));
  return {
    low: passes === 0 ? 0 : Math.max(0, centre - half),
    high: passes === runs ? 1 : Math.min(1, centre + half),
  };
}

/**
 * Unbiased pass@k from `passes` of `runs` samples: 1 − C(runs − passes, k) / C(runs, k).
 * Source: Chen et al. (2021), arXiv 2107.03374. Throws unless 1 <= k <= runs.
 */
export function passAtK(runs: number, passes: number, k: number): number {
  if (!(k >= 1 && k <= runs)) throw new RangeError(`passAtK: expected 1 <= k <= ${runs}, found ${k}`);
  if (runs - passes < k) return 1;
  let noneOfK = 1;
  for (let n = runs - passes + 1; n <= runs; n++) noneOfK *= 1 - k / n;
  return 1 - noneOfK;
}

export interface BootstrapOptions {
  /** Default 2,000. */
  readonly resamples?: number;
  /** Default 0.95. */
  readonly confidence?: number;
}

/** Mean of per-task pass rates (pass@1), with a cluster bootstrap over tasks: percentile interval. Not empty. */
export function meanPassRateInterval(
  tasks: readonly TaskResult[],
  random: RandomStream,
  options: BootstrapOptions = {},
): Estimate {
  return bootstrapMean(tasks.map(rate), random, options);
}

/**
 * Mean difference of pass rates `after` − `before` of the same tasks in the same order, with a paired bootstrap over
 * tasks: percentile interval. Not empty.
 */
export function pairedDifferenceInterval(
  before: readonly TaskResult[],
  after: readonly TaskResult[],
  random: RandomStream,
  options: BootstrapOptions = {},
): Estimate {
  if (before.length !== after.length)
    throw new RangeError(`paired difference: ${before.length} tasks before, ${after.length} after`);
  const differences = before.map((task, index) => rate(after[index]!) - rate(task));
  return bootstrapMean(differences, random, options);
}

/** (Σw)² / Σw² of weights >= 0, in samples; 0 without a positive weight. */
export function effectiveSampleSize(weights: ArrayLike<number>): number {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < weights.length; i++) {
    sum += weights[i]!;
    squares += weights[i]! ** 2;
  }
  return squares === 0 ? 0 : sum ** 2 / squares;
}

function rate({ passes, runs }: TaskResult): number {
  if (!(runs > 0)) throw new RangeError("a task without runs has no pass rate");
  return passes / runs;
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

function bootstrapMean(
  values: readonly number[],
  random: RandomStream,
  { resamples = 2000, confidence = 0.95 }: BootstrapOptions,
): Estimate {
  if (values.length === 0) throw new RangeError("bootstrap: expected at least one task");
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[random.integer(values.length)]!;
    means[r] = sum / values.length;
  }
  means.sort();
  const tail = (1 - confidence) / 2;
  return { mean: mean(values), low: quantile(means, tail), high: quantile(means, 1 - tail) };
}

/** Linear interpolation between order statistics (Hyndman and Fan's type 7). */
function quantile(sorted: Float64Array, probability: number): number {
  const position = probability * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below]!;
  return low + (position - below) * (sorted[Math.min(below + 1, sorted.length - 1)]! - low);
}
