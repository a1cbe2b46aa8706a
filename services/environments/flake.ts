/** What k runs without a flake say about the rate of flakes. */

/**
 * Upper bound of a test's flake rate per run after `runs` runs that all agreed: the rate at which so many agreeing runs have
 * probability `1 - confidence`. Exact (Clopper–Pearson with no event); for many runs it nears the rule of three, 3 / runs at 95 %.
 *
 * Source: Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?" (JAMA 1983).
 */
export function flakeBound(runs: number, confidence = 0.95): number {
  if (!Number.isInteger(runs) || runs < 1)
    throw new RangeError(`flakeBound(${runs}): expected a positive number of runs`);
  if (!(confidence > 0 && confidence < 1))
    throw new RangeError(`flakeBound: confidence ${confidence} is not between 0 and 1`);
  return 1 - (1 - confidence) ** (1 / runs);
}
