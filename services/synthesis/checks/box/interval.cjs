/** An interval of a median that supposes nothing of the distribution: order statistics, by the binomial law. Runs in the judging box. */
"use strict";

/** Chance of at most `k` heads in `n` throws. */
function binomial(n, k) {
  let term = 0.5 ** n;
  let sum = 0;
  for (let i = 0; i <= k; i++) {
    sum += term;
    term *= (n - i) / (i + 1);
  }
  return sum;
}

/**
 * The tightest pair of order statistics that holds the median with at least the confidence; the extremes where even they do not.
 *
 * Source: David and Nagaraja, Order Statistics (3rd ed.), section 7.1.
 */
function interval(values, confidence) {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  let k = 0;
  while (k + 1 < n / 2 && 1 - 2 * binomial(n, k + 1) >= confidence) k++;
  const median = (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
  return { low: sorted[k], high: sorted[n - 1 - k], median };
}

module.exports = { interval };
