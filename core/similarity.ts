/**
 * Sketches of token lists: 64 bits of which few differ between lists that share most of their 4-grams (simhash). A bit is the sign of a vote of all
 * 4-grams, so equal lists have equal sketches, and two unrelated ones differ in about half of the bits.
 *
 * Source: Charikar, "Similarity estimation techniques from rounding algorithms" (STOC 2002), https://doi.org/10.1145/509907.509965
 */

const GRAM = 4;
const BITS = 64;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT_BITS = 6;
/** Characters of a sketch as text: short, for workflows carry thousands of them. */
export const SKETCH_LENGTH = Math.ceil(BITS / DIGIT_BITS);

function hash32(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function gramsOf(tokens: readonly string[]): string[] {
  const count = Math.max(1, tokens.length - GRAM + 1);
  return Array.from({ length: count }, (_, i) => tokens.slice(i, i + GRAM).join("\0"));
}

export function sketchOf(tokens: readonly string[]): string {
  const votes = new Int32Array(BITS);
  for (const gram of gramsOf(tokens))
    for (const [half, seed] of [0x811c9dc5, 0x2f0b4c27].entries()) {
      const hash = hash32(gram, seed);
      for (let bit = 0; bit < 32; bit++) votes[half * 32 + bit]! += (hash >>> bit) & 1 ? 1 : -1;
    }
  let text = "";
  for (let start = 0; start < BITS; start += DIGIT_BITS) {
    let digit = 0;
    for (let bit = start; bit < Math.min(BITS, start + DIGIT_BITS); bit++)
      digit = digit * 2 + (votes[bit]! > 0 ? 1 : 0);
    text += DIGITS[digit];
  }
  return text;
}

/** Bits in which two sketches differ. */
export function sketchDistance(one: string, other: string): number {
  let distance = 0;
  for (let i = 0; i < SKETCH_LENGTH; i++) {
    let differing = DIGITS.indexOf(one[i]!) ^ DIGITS.indexOf(other[i]!);
    for (; differing !== 0; differing &= differing - 1) distance++;
  }
  return distance;
}
