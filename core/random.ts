/**
 * Counter-based random streams: `random(seed, ...keys)` is the same stream on every machine and in every attempt, and
 * streams of different keys are independent. Draw i of a stream is Philox4x32-10 of counter i under a key hashed from
 * (seed, keys). Attempt numbers, names, times and hosts must never be keys.
 *
 * Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), https://doi.org/10.1145/2063384.2063405
 */

export type RandomKey = string | number;

export interface RandomStream {
  /** Uniform in [0, 1), 53 bits. */
  next(): number;
  /** Uniform integer in [0, bound). `bound` is a positive integer below 2^31. */
  integer(bound: number): number;
  /** One element, uniformly. Throws on an empty list. */
  pick<T>(items: readonly T[]): T;
  /** A shuffled copy (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** Index drawn in proportion to `weights` (all >= 0, sum > 0). */
  weighted(weights: readonly number[]): number;
  /** An unsigned 32-bit integer: a seed for someone else's generator. */
  seed32(): number;
}

function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const cross = (middle & 0xffff) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(cross / 65536)) >>> 0;
}

/** Philox4x32-10. `counter` is four and `key` two unsigned 32-bit words; returns four. */
export function philox4x32(
  counter: readonly number[],
  key: readonly number[],
): [number, number, number, number] {
  let [c0, c1, c2, c3] = counter as [number, number, number, number];
  let [k0, k1] = key as [number, number];
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0) >>> 0;
    const high1 = multiplyHigh(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** MurmurHash3 x86 32-bit of a string's UTF-16 code units, two bytes each. */
function hash32(text: string, seed: number): number {
  let h = seed >>> 0;
  const scramble = (k: number) =>
    Math.imul((Math.imul(k, 0xcc9e2d51) << 15) | (Math.imul(k, 0xcc9e2d51) >>> 17), 0x1b873593);
  const pairs = text.length >> 1;
  for (let i = 0; i < pairs; i++) {
    h ^= scramble(text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 16));
    h = (h << 13) | (h >>> 19);
    h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  }
  if (text.length & 1) h ^= scramble(text.charCodeAt(text.length - 1));
  h ^= text.length * 2;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export function random(seed: number, ...keys: RandomKey[]): RandomStream {
  // JSON keeps ("a", "b") apart from ("ab") and 1 apart from "1".
  const text = JSON.stringify([seed, ...keys]);
  const key = [hash32(text, 0x7ad901e), hash32(text, 0x5eed)];
  const prefix = [hash32(text, 0xc0ffee), hash32(text, 0xf09)];
  let counter = 0;
  let block: readonly number[] = [];
  const word = (): number => {
    if (counter % 4 === 0) block = philox4x32([counter / 4, 0, prefix[0]!, prefix[1]!], key);
    return block[counter++ % 4]!;
  };
  const next = (): number => ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;
  const integer = (bound: number): number => {
    if (!Number.isInteger(bound) || bound < 1 || bound > 0x7fffffff)
      throw new RangeError(`integer(${bound}): expected 1..2^31-1`);
    return Math.floor(next() * bound);
  };
  return {
    next,
    integer,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("pick: the list is empty");
      return items[integer(items.length)]!;
    },
    shuffle: (items) => {
      const copy = [...items];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = integer(i + 1);
        [copy[i], copy[j]] = [copy[j]!, copy[i]!];
      }
      return copy;
    },
    weighted: (weights) => {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      if (!(total > 0)) throw new RangeError("weighted: the weights must have a positive sum");
      let rest = next() * total;
      let last = 0;
      for (let i = 0; i < weights.length; i++) {
        if (weights[i]! <= 0) continue;
        last = i;
        rest -= weights[i]!;
        if (rest < 0) return i;
      }
      return last;
    },
    seed32: word,
  };
}
