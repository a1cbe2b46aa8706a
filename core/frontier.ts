/**
 * Choosing an update's tasks by how much they can still teach: in proportion to p(1 − p) of a running pass rate, with a floor, and with no task
 * left waiting for ever. Pure; arithmetic alone, so that every machine draws the same.
 */
import { random } from "./random.ts";

export interface FrontierSettings {
  /** Least weight of a task, where one that passes half the time weighs 1; in [0, 1]. */
  readonly floor: number;
  /** Passes over the pool, at even use, after which a task that was left out comes first. */
  readonly patience: number;
}

/** Of one task. */
export interface RunningRate {
  /** Results so far, each group of earlier ones counting half as much as the one after it. */
  readonly passes: number;
  readonly runs: number;
  /** Update that it was last chosen for; 0 = none yet. */
  readonly last: number;
}

export const UNSEEN: RunningRate = { passes: 0, runs: 0, last: 0 };

/** The policy moves on: what it did a few groups ago says little about it. */
export function withGroup(rate: RunningRate, passes: number, runs: number): RunningRate {
  return { ...rate, passes: rate.passes / 2 + passes, runs: rate.runs / 2 + runs };
}

/** 4p(1 − p), at least `floor`; p with half a pass and half a failure added, so that 0 of 8 is not never. */
export function frontierWeight({ passes, runs }: RunningRate, floor: number): number {
  const rate = (passes + 0.5) / (runs + 1);
  return Math.max(floor, 4 * rate * (1 - rate));
}

/** Indices of `min(size, rates.length)` distinct tasks for an update (1-based), those that waited too long first. */
export function frontierTasks(
  rates: readonly RunningRate[],
  size: number,
  update: number,
  { floor, patience }: FrontierSettings,
  seed: number,
  iteration: number,
): number[] {
  const wanted = Math.min(size, rates.length);
  const wait = patience * Math.ceil(rates.length / Math.max(1, size));
  const overdue = rates
    .map(({ last }, index) => ({ last, index }))
    .filter(({ last }) => update - last > wait)
    .sort((a, b) => a.last - b.last || a.index - b.index);
  const chosen = overdue.slice(0, wanted).map(({ index }) => index);
  const stream = random(seed, iteration, "frontier", update);
  const weights = rates.map((rate, index) => (chosen.includes(index) ? 0 : frontierWeight(rate, floor)));
  while (chosen.length < wanted) {
    // Nothing left to learn from anywhere, and no floor: then all are alike.
    const left = weights.some((weight) => weight > 0)
      ? weights
      : weights.map((_, index) => (chosen.includes(index) ? 0 : 1));
    const index = stream.weighted(left);
    chosen.push(index);
    weights[index] = 0;
  }
  return chosen;
}
