/** Bounded concurrency that reads results in index order. Plain promises: deterministic under replay. */

/**
 * Runs `work(0) … work(count - 1)`, at most `limit` at once, and returns the results in index order. The first failure by
 * index order is thrown, once everything already started has ended. Once `cut` says so nothing more starts: then the results are those
 * of the first items only.
 */
export async function mapWindow<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
  cut: () => boolean = () => false,
): Promise<R[]> {
  const results: { value?: R; error?: unknown; failed: boolean }[] = [];
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed && !cut()) {
      const index = next++;
      try {
        results[index] = { value: await work(items[index]!, index), failed: false };
      } catch (error) {
        failed = true;
        results[index] = { error, failed: true };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, items.length)) }, lane));
  for (const result of results) if (result?.failed) throw result.error;
  return results.map((result) => result.value as R);
}

/** Why a sliding window ended: `settle` knew enough, there was no more work, or it was cut with all that was in flight settled. */
export type WindowEnd = "enough" | "exhausted" | "cut";

/**
 * Starts pieces of work in index order, at most `limit` in flight, and settles them in index order, whatever order they end in.
 * `settle` returns false when enough is known: nothing more starts, and what is in flight is left to `cancel`.
 */
export async function slidingWindow<T, R>(options: {
  readonly limit: number;
  /** The next piece of work, or null when there is no more. May wait. */
  readonly next: () => Promise<T | null>;
  readonly work: (item: T) => Promise<R>;
  readonly settle: (item: T, result: R) => boolean;
  readonly cancel: () => void;
  /** Asked before each start; once true nothing more starts. */
  readonly cut?: () => boolean;
}): Promise<WindowEnd> {
  const flying: { item: T; result: Promise<R> }[] = [];
  let end: WindowEnd | null = null;
  for (;;) {
    while (end === null && flying.length < options.limit) {
      if (options.cut?.()) {
        end = "cut";
        break;
      }
      const item = await options.next();
      if (item === null) {
        end = "exhausted";
        break;
      }
      const result = options.work(item);
      // Awaited below in index order; until then an early failure must not count as unhandled.
      result.catch(() => undefined);
      flying.push({ item, result });
    }
    const first = flying.shift();
    if (first === undefined) return end ?? "exhausted";
    const more = options.settle(first.item, await first.result);
    if (!more) {
      options.cancel();
      await Promise.allSettled(flying.map(({ result }) => result));
      return "enough";
    }
  }
}
