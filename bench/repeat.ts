/** Repeats that a busy machine disturbs least: both sides by turns, and medians. */

/** Throws RangeError on an empty list. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("median: the list is empty");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export interface Sides<T> {
  readonly subject: T;
  readonly reference: T;
}

/**
 * Runs both sides in every round and returns their results in round order. Who goes first changes from round to round, so that neither
 * always finds the caches the other has warmed.
 */
export async function interleaved<T>(
  rounds: number,
  sides: Sides<(round: number) => T | Promise<T>>,
): Promise<Sides<T[]>> {
  const results: Sides<T[]> = { subject: [], reference: [] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (["reference", "subject"] as const) : (["subject", "reference"] as const);
    for (const side of order) results[side].push(await sides[side](round));
  }
  return results;
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
