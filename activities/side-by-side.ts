/** Pieces of one activity that are done at the same time. */

/**
 * Results in the order of `items`. The first failure stops the others and is thrown once all of them have ended: nothing of an activity goes on
 * after it.
 */
export async function sideBySide<T, R>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  let failure: { readonly error: unknown } | null = null;
  const results = await Promise.allSettled(
    items.map((item) =>
      work(item, either).catch((error: unknown) => {
        failure ??= { error };
        stop.abort();
        throw error;
      }),
    ),
  );
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
  return results.map((result) => (result as PromiseFulfilledResult<R>).value);
}
