/** When an update that tells no progress counts as stalled. */

export interface WatchdogLimits {
  /** Until the first step, and from the last one to the checkpoint: weights are read and written, and nothing is told meanwhile. */
  readonly quietSeconds: number;
  /** A step is never late before this: the longest wait of a busy machine. */
  readonly leastSeconds: number;
  /** Median steps that one step may last: rows are unequal, but not by so much. */
  readonly medians: number;
}

export const WATCHDOG: WatchdogLimits = { quietSeconds: 1800, leastSeconds: 120, medians: 20 };

/** Below so many, a median says nothing. */
const KNOWN_STEPS = 3;

/** Steps that the median is taken of: enough to be steady, few enough to follow a change of the batches. */
export const REMEMBERED_STEPS = 64;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Seconds without progress after which the update is stalled. `steps`: seconds of the steps before, of this update or another. */
export function patience(
  { done, total }: { readonly done: number; readonly total: number },
  steps: readonly number[],
  limits: WatchdogLimits,
): number {
  if (done === 0 || done >= total || steps.length < KNOWN_STEPS) return limits.quietSeconds;
  return Math.min(limits.quietSeconds, Math.max(limits.leastSeconds, limits.medians * median(steps)));
}
