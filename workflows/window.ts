/** Bounded concurrency that reads results in index order. Plain promises: deterministic under replay. */

/**
 * Runs `work(0) … work(count - 1)`, at most `limit` at once, and returns the results in index order. The first failure by
 * index order is thrown, once everything already started has ended.
 */
export async function mapWindow<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: { value?: R; error?: unknown; failed: boolean }[] = [];
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
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
}): Promise<void> {
  const flying: { item: T; result: Promise<R> }[] = [];
  let exhausted = false;
  for (;;) {
    while (!exhausted && flying.length < options.limit) {
      const item = await options.next();
      if (item === null) {
        exhausted = true;
        break;
      }
      const result = options.work(item);
      // Awaited below in index order; until then an early failure must not count as unhandled.
      result.catch(() => undefined);
      flying.push({ item, result });
    }
    const first = flying.shift();
    if (first === undefined) return;
    const more = options.settle(first.item, await first.result);
    if (!more) {
      options.cancel();
      await Promise.allSettled(flying.map(({ result }) => result));
      return;
    }
  }
}
