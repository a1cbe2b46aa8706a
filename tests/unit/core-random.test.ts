/** Random streams: known answers of Philox, independence of keys, and uniformity. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { philox4x32, random } from "../../core/random.ts";

const hex = (words: readonly number[]) => words.map((word) => word.toString(16).padStart(8, "0")).join(" ");

describe("Philox4x32-10", () => {
  // Known-answer vectors of Random123 (tests/kat_vectors): all zeros, all ones, digits of pi.
  it.each([
    [[0, 0, 0, 0], [0, 0], "6627e8d5 e169c58d bc57ac4c 9b00dbd8"],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff],
      "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      "d16cfe09 94fdcceb 5001e420 24126ea1",
    ],
  ])("of counter %j under key %j", (counter, key, expected) => {
    expect(hex(philox4x32(counter, key))).toBe(expected);
  });
});

describe("random streams", () => {
  const draws = (...keys: [number, ...(string | number)[]]) => {
    const stream = random(...keys);
    return Array.from({ length: 8 }, () => stream.seed32());
  };

  it("are the same for the same keys, on every machine", () => {
    expect(draws(7, "probe", 3)).toEqual(draws(7, "probe", 3));
    expect(hex(draws(7, "probe", 3).slice(0, 2))).toBe("cf99d705 7cf0c79e");
  });

  it("differ by seed, by key, by its type and by how keys are split", () => {
    const streams = [
      draws(1, "a", "b"),
      draws(2, "a", "b"),
      draws(1, "ab"),
      draws(1, "a", "b", ""),
      draws(1, "b", "a"),
      draws(1, 1),
      draws(1, "1"),
    ].map(hex);
    expect(new Set(streams).size).toBe(streams.length);
  });

  it("are uniform: every 16th of [0, 1) gets its share", () => {
    const stream = random(11, "uniform");
    const bins = new Array<number>(16).fill(0);
    for (let i = 0; i < 16_000; i++) bins[Math.floor(stream.next() * 16)]!++;
    const chiSquare = bins.reduce((sum, n) => sum + (n - 1000) ** 2 / 1000, 0);
    // 15 degrees of freedom: 37.7 is the 99.9 % quantile.
    expect(chiSquare).toBeLessThan(37.7);
  });

  it("of neighbouring keys are uncorrelated", () => {
    let sum = 0;
    for (let i = 0; i < 10_000; i++)
      sum += (random(1, "slot", i).next() - 0.5) * (random(1, "slot", i + 1).next() - 0.5);
    // Standard deviation of the mean product: 1/12 / sqrt(10,000).
    expect(Math.abs(sum / 10_000)).toBeLessThan(4 * (1 / 12 / 100));
  });

  it("draw integers below their bound, and shuffle into permutations", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 0x7fffffff }),
        fc.array(fc.nat()),
        (seed, bound, items) => {
          const stream = random(seed, "p");
          const drawn = stream.integer(bound);
          expect(Number.isInteger(drawn) && drawn >= 0 && drawn < bound).toBe(true);
          const shuffled = stream.shuffle(items);
          expect([...shuffled].sort((a, b) => a - b)).toEqual([...items].sort((a, b) => a - b));
          if (items.length > 0) expect(items).toContain(stream.pick(items));
        },
      ),
    );
  });

  it("draw in proportion to weights, and never what weighs nothing", () => {
    const stream = random(2, "weights");
    const counts = [0, 0, 0];
    for (let i = 0; i < 4000; i++) counts[stream.weighted([1, 0, 3])]!++;
    expect(counts[1]).toBe(0);
    // Binomial(4000, 3/4): standard deviation 27.
    expect(Math.abs(counts[2]! - 3000)).toBeLessThan(110);
  });

  it("refuse what has no draw", () => {
    expect(() => random(1).pick([])).toThrow(RangeError);
    expect(() => random(1).integer(0)).toThrow(RangeError);
    expect(() => random(1).integer(1.5)).toThrow(RangeError);
    expect(() => random(1).weighted([0, 0])).toThrow(RangeError);
  });
});
