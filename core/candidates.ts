/** What tells candidates apart. */
import { random } from "./random.ts";

/**
 * The key in what is carried from run to run and kept from iteration to iteration, where whole keys would soon fill a payload. 48 bits tell
 * thousands of candidates apart; two that they do not count as one.
 */
export const shortKey = (key: string): string => key.slice(0, 12);

/** The same of the name of a function, a file or an origin: 32 bits. */
export const shortName = (name: string): string => random(0, name).seed32().toString(36);
