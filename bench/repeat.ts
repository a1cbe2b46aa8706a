/** Repeats that a busy machine disturbs least: all sides by turns, and medians. */

/** Throws RangeError on an empty list. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("median: the list is empty");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The smallest value that `share` (above 0, at most 1) of all values do not exceed. Throws RangeError on an empty list or another share. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError("percentile: the list is empty");
  if (!(share > 0 && share <= 1)) throw new RangeError(`percentile: a share of ${share}; expected 0 to 1`);
  // 0.28 × 25 is a little more than 7 in floating point.
  const rank = Math.max(1, Math.ceil(share * values.length - 1e-9));
  return values.toSorted((a, b) => a - b)[rank - 1]!;
}

export interface Sides<T> {
  readonly subject: T;
  readonly reference: T;
}

/**
 * Runs every side in every round and returns their results in round order. Who goes first changes from round to round, so that none
 * always finds the caches that another has warmed.
 */
export async function inTurns<Side extends string, T>(
  rounds: number,
  sides: Readonly<Record<Side, (round: number) => T | Promise<T>>>,
): Promise<Record<Side, T[]>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Side, T[]>;
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < names.length; turn++) {
      const side = names[(round + turn) % names.length]!;
      results[side].push(await sides[side](round));
    }
  return results;
}

/** `inTurns` for two: the reference first in even rounds. */
export async function interleaved<T>(
  rounds: number,
  { subject, reference }: Sides<(round: number) => T | Promise<T>>,
): Promise<Sides<T[]>> {
  return inTurns<keyof Sides<T>, T>(rounds, { reference, subject });
}

/** Medians of what `pick` takes from each result. */
export function medians<T>(results: Sides<readonly T[]>, pick: (result: T) => number): Sides<number> {
  return { subject: median(results.subject.map(pick)), reference: median(results.reference.map(pick)) };
}

export interface Timed<T> {
  readonly seconds: number;
  readonly value: T;
}

export async function timed<T>(work: () => T | Promise<T>): Promise<Timed<T>> {
  const start = performance.now();
  const value = await work();
  return { seconds: (performance.now() - start) / 1000, value };
}
