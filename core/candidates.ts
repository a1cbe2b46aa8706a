/** What tells candidates apart. */

/**
 * The key in what is carried from run to run and kept from iteration to iteration, where whole keys would soon fill a payload. 48 bits tell
 * thousands of candidates apart; two that they do not count as one.
 */
export const shortKey = (key: string): string => key.slice(0, 12);
