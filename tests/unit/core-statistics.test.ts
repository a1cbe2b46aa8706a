/** Intervals, estimates and canonical JSON. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical.ts";
import { random } from "../../core/random.ts";
import {
  effectiveSampleSize,
  meanPassRateInterval,
  pairedDifferenceInterval,
  passAtK,
  wilson,
} from "../../core/statistics.ts";

describe("Wilson interval", () => {
  it("holds the observed rate, stays in [0, 1], mirrors and narrows with more runs", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.nat({ max: 500 }), (runs, some) => {
        const passes = Math.min(some, runs);
        const { low, high } = wilson(passes, runs);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(passes / runs);
        expect(high).toBeGreaterThanOrEqual(passes / runs);
        expect(high).toBeLessThanOrEqual(1);
        const mirrored = wilson(runs - passes, runs);
        expect(mirrored.low).toBeCloseTo(1 - high, 12);
        const more = wilson(passes * 4, runs * 4);
        expect(more.high - more.low).toBeLessThan(high - low);
      }),
    );
  });

  it("of no runs is everything", () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
  });
});

describe("pass@k", () => {
  it("is the share of samples of k that hold a pass, counted over all of them", () => {
    const subsets = (n: number, k: number): number[][] =>
      k === 0
        ? [[]]
        : Array.from({ length: n }, (_, i) => i).flatMap((last) =>
            subsets(last, k - 1).map((rest) => [...rest, last]),
          );
    for (let runs = 1; runs <= 7; runs++)
      for (let passes = 0; passes <= runs; passes++)
        for (let k = 1; k <= runs; k++) {
          const all = subsets(runs, k);
          const withPass = all.filter((subset) => subset.some((index) => index < passes));
          expect(passAtK(runs, passes, k)).toBeCloseTo(withPass.length / all.length, 12);
        }
  });

  it("refuses k outside 1..runs", () => {
    expect(() => passAtK(4, 2, 5)).toThrow(RangeError);
    expect(() => passAtK(4, 2, 0)).toThrow(RangeError);
  });
});

describe("bootstrap", () => {
  const tasks = Array.from({ length: 40 }, (_, i) => ({ passes: i % 3, runs: 2 }));

  it("is the same for the same stream, and holds the mean", () => {
    const first = meanPassRateInterval(tasks, random(1, "a"));
    expect(meanPassRateInterval(tasks, random(1, "a"))).toEqual(first);
    expect(first.mean).toBeCloseTo(39 / 80, 12);
    expect(first.low).toBeLessThan(first.mean);
    expect(first.high).toBeGreaterThan(first.mean);
  });

  it("resamples tasks, not samples: copies of a sample add no certainty", () => {
    const copied = tasks.map(({ passes, runs }) => ({ passes: passes * 50, runs: runs * 50 }));
    expect(meanPassRateInterval(copied, random(1, "a"))).toEqual(meanPassRateInterval(tasks, random(1, "a")));
  });

  it("comes near the normal interval of the mean where that is known", () => {
    // Values 0, 0.5 and 1 in turn: variance 1/6 over 40 tasks (14, 13 and 13 of each).
    const { low, high } = meanPassRateInterval(tasks, random(3, "width"), { resamples: 10_000 });
    expect((high - low) / (2 * 1.96 * Math.sqrt(1 / 6 / 40))).toBeCloseTo(1, 1);
  });

  it("has no width where all tasks agree", () => {
    const same = Array.from({ length: 5 }, () => ({ passes: 1, runs: 4 }));
    expect(meanPassRateInterval(same, random(1))).toEqual({ mean: 0.25, low: 0.25, high: 0.25 });
  });

  it("of a difference pairs tasks: a constant gain has no width although tasks differ", () => {
    const before = tasks.map(({ passes }) => ({ passes, runs: 4 }));
    const after = before.map(({ passes, runs }) => ({ passes: passes + 1, runs }));
    expect(pairedDifferenceInterval(before, after, random(1))).toEqual({ mean: 0.25, low: 0.25, high: 0.25 });
    expect(() => pairedDifferenceInterval(before, after.slice(1), random(1))).toThrow(RangeError);
  });

  it("covers the true mean about as often as it says", () => {
    let covered = 0;
    for (let trial = 0; trial < 200; trial++) {
      const draw = random(5, "coverage", trial);
      const sample = Array.from({ length: 40 }, () => ({ passes: draw.next() < 0.3 ? 1 : 0, runs: 1 }));
      const { low, high } = meanPassRateInterval(sample, draw, { resamples: 300 });
      if (low <= 0.3 && 0.3 <= high) covered++;
    }
    expect(covered).toBeGreaterThan(175);
    expect(covered).toBeLessThan(200);
  });

  it("refuses no tasks and tasks without runs", () => {
    expect(() => meanPassRateInterval([], random(1))).toThrow(RangeError);
    expect(() => meanPassRateInterval([{ passes: 0, runs: 0 }], random(1))).toThrow(RangeError);
  });
});

describe("effective sample size", () => {
  it("counts equal weights, and is 1 where one weight holds all", () => {
    expect(effectiveSampleSize([2, 2, 2])).toBeCloseTo(3, 12);
    expect(effectiveSampleSize([0, 5, 0])).toBe(1);
    expect(effectiveSampleSize([1, 3])).toBeCloseTo(1.6, 12);
    expect(effectiveSampleSize([])).toBe(0);
  });
});

describe("canonical JSON", () => {
  it("sorts keys at every depth and leaves undefined fields out", () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }], a: "ü\n", c: undefined, B: true })).toBe(
      '{"B":true,"a":"ü\\n","b":[{"a":null,"z":1}]}',
    );
  });

  it("reads back as the same value, and does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(reversed)).toBe(text);
      }),
    );
  });

  it("refuses what JSON would change silently", () => {
    for (const value of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1n,
      () => 1,
      new Map(),
      new Date(0),
      [undefined],
    ])
      expect(() => canonicalJson({ value })).toThrow(TypeError);
  });
});
