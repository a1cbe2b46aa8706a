/** Rewards and advantages: hand-computed groups, and what holds for every group. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AdvantageEstimator, advantages, keepGroup } from "../../core/advantage.ts";
import { type RewardSettings, shapedReward } from "../../core/reward.ts";

const settings: RewardSettings = {
  truncationFactor: 0.5,
  length: { fromIteration: 3, freeTokens: 1000, alpha: 0.5, floor: 0.1 },
};
const success = { raw: 1, truncated: false, generatedTokens: 500, iteration: 3 } as const;

describe("shaped reward", () => {
  it("of a failure is 0, however short, long or truncated", () => {
    for (const generatedTokens of [1, 100_000])
      for (const truncated of [true, false])
        expect(shapedReward({ raw: 0, truncated, generatedTokens, iteration: 5 }, settings)).toBe(0);
  });

  it("of a success within the free tokens is 1, and half that when a limit cut it short", () => {
    expect(shapedReward(success, settings)).toBe(1);
    expect(shapedReward({ ...success, generatedTokens: 1000 }, settings)).toBe(1);
    expect(shapedReward({ ...success, truncated: true }, settings)).toBe(0.5);
  });

  it("of a long success falls with the logarithm of its length, down to the floor", () => {
    const e = { ...success, generatedTokens: 1000 * Math.E };
    expect(shapedReward(e, settings)).toBeCloseTo(0.5, 12);
    expect(shapedReward({ ...e, truncated: true }, settings)).toBeCloseTo(0.25, 12);
    expect(shapedReward({ ...success, generatedTokens: 1_000_000 }, settings)).toBe(0.1);
  });

  it("knows no length before the iteration that introduces it, nor where none does", () => {
    const long = { ...success, generatedTokens: 1_000_000 };
    expect(shapedReward({ ...long, iteration: 2 }, settings)).toBe(1);
    const never = { ...settings, length: { ...settings.length, fromIteration: null } };
    expect(shapedReward({ ...long, iteration: 5 }, never)).toBe(1);
  });

  it("stays between 0 and 1 and never grows with length", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.integer({ min: 1, max: 200_000 }),
        fc.integer({ min: 0, max: 200_000 }),
        (truncated, tokens, more) => {
          const short = shapedReward({ ...success, truncated, generatedTokens: tokens }, settings);
          const long = shapedReward({ ...success, truncated, generatedTokens: tokens + more }, settings);
          expect(short).toBeLessThanOrEqual(1);
          expect(long).toBeGreaterThanOrEqual(0);
          expect(long).toBeLessThanOrEqual(short);
        },
      ),
    );
  });
});

const estimators: AdvantageEstimator[] = [
  "group-std-population",
  "group-std-sample",
  "no-std",
  "leave-one-out",
];

describe("advantages", () => {
  it.each([
    // mean 1/4; population std √3/4, sample std 1/2
    ["group-std-population", [0.75 / (Math.sqrt(3) / 4 + 1e-6), -0.25 / (Math.sqrt(3) / 4 + 1e-6)]],
    ["group-std-sample", [0.75 / (0.5 + 1e-6), -0.25 / (0.5 + 1e-6)]],
    ["no-std", [0.75, -0.25]],
    ["leave-one-out", [1, -1 / 3]],
  ] as const)("of one pass in four by %s", (estimator, [pass, fail]) => {
    const values = advantages([1, 0, 0, 0], { estimator });
    expect(values[0]).toBeCloseTo(pass, 12);
    for (const value of values.slice(1)) expect(value).toBeCloseTo(fail, 12);
  });

  it.each(estimators)("of equal rewards and of a group of one are 0 by %s", (estimator) => {
    expect(advantages([1, 1, 1, 1], { estimator })).toEqual([0, 0, 0, 0]);
    expect(advantages([0, 0], { estimator })).toEqual([0, 0]);
    expect(advantages([1], { estimator })).toEqual([0]);
    expect(advantages([], { estimator })).toEqual([]);
  });

  it.each(estimators)("sum to 0, keep the rewards' order and ignore a constant by %s", (estimator) => {
    const reward = fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000);
    fc.assert(
      fc.property(fc.array(reward, { minLength: 2, maxLength: 16 }), (rewards) => {
        const values = advantages(rewards, { estimator });
        expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 6);
        for (let i = 1; i < rewards.length; i++)
          if (rewards[i]! > rewards[i - 1]!) expect(values[i]).toBeGreaterThan(values[i - 1]!);
        const moved = advantages(
          rewards.map((r) => r + 1),
          { estimator },
        );
        moved.forEach((value, i) => {
          expect(value).toBeCloseTo(values[i]!, 6);
        });
      }),
    );
  });
});

describe("keeping a group", () => {
  it("needs a pass and a fail", () => {
    expect(keepGroup([1, 0, 0])).toBe(true);
    expect(keepGroup([0, 0, 1])).toBe(true);
    expect(keepGroup([1, 1, 1])).toBe(false);
    expect(keepGroup([0, 0])).toBe(false);
    expect(keepGroup([])).toBe(false);
  });

  it("ignores shaped rewards: all pass with unequal rewards is dropped, although its advantages are not 0", () => {
    const raw = [1, 1] as const;
    const shaped = [
      shapedReward(success, settings),
      shapedReward({ ...success, generatedTokens: 5000 }, settings),
    ];
    expect(advantages(shaped, { estimator: "no-std" })[0]).toBeGreaterThan(0.1);
    expect(keepGroup(raw)).toBe(false);
  });
});
