/** The slope of rewards over updates, and its interval. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commonSlope, type Point, trendOf } from "../../bench/cpu-llm/trend.ts";
import { random } from "../../core/random.ts";

const line = (slope: number, level: number, noise: (update: number) => number = () => 0): Point[] =>
  Array.from({ length: 12 }, (_, n) => ({ update: n + 1, reward: level + slope * (n + 1) + noise(n + 1) }));

describe("a trend over updates", () => {
  it("is the slope that all seeds share, whatever their levels", () => {
    const number = () => fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(number(), number(), number(), (slope, one, other) => {
        expect(commonSlope([line(slope, one), line(slope, other)])).toBeCloseTo(slope, 10);
      }),
    );
  });

  it("is above zero with certainty where rewards rise, and not where they only vary", () => {
    const stream = random(1, "noise");
    const noise = () => (stream.next() - 0.5) / 5;
    const rising = trendOf([line(0.03, 0.3, noise), line(0.03, 0.2, noise)], random(1, "resample"));
    expect(rising.low).toBeGreaterThan(0);
    expect(rising.high).toBeLessThan(0.06);
    const level = trendOf([line(0, 0.3, noise), line(0, 0.2, noise)], random(1, "resample"));
    expect(level.low).toBeLessThan(0);
    expect(level.high).toBeGreaterThan(0);
  });

  it("is unknown of a single update", () => {
    expect(commonSlope([[{ update: 1, reward: 0.5 }]])).toBeNaN();
  });
});
