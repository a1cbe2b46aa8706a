/** The independent test vectors of tests/vectors: rewards, advantages, losses with their gradient, and statistics. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type AdvantageEstimator, advantages, keepGroup } from "../../core/advantage.ts";
import { type LossKind, policyLoss } from "../../core/loss.ts";
import { shapedReward } from "../../core/reward.ts";
import { effectiveSampleSize, passAtK, wilson } from "../../core/statistics.ts";
import { tokenBatch } from "./core-helpers.ts";

interface VectorTrajectory {
  raw: 0 | 1;
  truncated: boolean;
  generatedTokens: number;
  trainable: (0 | 1)[];
  logProbRollout: number[];
  logProbTrain: number[];
}

interface UpdateCase {
  id: number;
  settings: {
    lengthPenalty: boolean;
    freeTokens: number;
    alpha: number;
    advantage: AdvantageEstimator;
    loss: LossKind;
    threshold: number;
    clipLow: number;
    clipHigh: number;
    ratioLow: number;
    ratioHigh: number;
  };
  groups: VectorTrajectory[][];
  expected: {
    shaped: number[][];
    advantages: number[][];
    keptGroups: number[];
    trainableTokens: number;
    loss: number;
    maskedTokens: number;
    effectiveSampleSize: number;
    gradLogProbTrain: number[][][];
  };
}

const read = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8")) as T;

const { cases } = read<{ cases: UpdateCase[] }>("updates");
const statistics = read<{
  wilson95: { passes: number; runs: number; low: number; high: number }[];
  passAtK: { runs: number; passes: number; k: number; passAtK: number }[];
}>("statistics");

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>) {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < expected.length; i++)
    expect(Math.abs(actual[i]! - expected[i]!)).toBeLessThanOrEqual(
      1e-10 * Math.max(1, Math.abs(expected[i]!)),
    );
}

describe("updates.json", () => {
  it("has its 65 batches, of every loss and every estimator", () => {
    expect(cases).toHaveLength(65);
    expect(new Set(cases.map((c) => c.settings.loss)).size).toBe(3);
    expect(new Set(cases.map((c) => c.settings.advantage)).size).toBe(4);
  });

  it.each(cases)("batch $id: $settings.loss, $settings.advantage", ({ settings, groups, expected }) => {
    const reward = {
      truncationFactor: 0.5,
      length: {
        fromIteration: settings.lengthPenalty ? 1 : null,
        freeTokens: settings.freeTokens,
        alpha: settings.alpha,
        floor: 0,
      },
    };
    const shaped = groups.map((group) => group.map((t) => shapedReward({ ...t, iteration: 1 }, reward)));
    shaped.forEach((rewards, g) => {
      expectClose(rewards, expected.shaped[g]!);
    });
    const estimated = shaped.map((rewards) => advantages(rewards, { estimator: settings.advantage }));
    estimated.forEach((values, g) => {
      expectClose(values, expected.advantages[g]!);
    });
    const kept = groups.flatMap((group, g) => (keepGroup(group.map((t) => t.raw)) ? [g] : []));
    expect(kept).toEqual(expected.keptGroups);

    const batch = tokenBatch(
      kept.flatMap((g) =>
        groups[g]!.map((t, member) => ({
          advantage: estimated[g]![member]!,
          trainable: t.trainable,
          rollout: t.logProbRollout,
          train: t.logProbTrain,
        })),
      ),
    );
    const result = policyLoss(batch, { ...settings, kind: settings.loss });
    expectClose([result.loss], [expected.loss]);
    expect(result.trainableTokens).toBe(expected.trainableTokens);
    expect(result.droppedTokens).toBe(expected.maskedTokens);
    expectClose([result.effectiveSampleSize], [expected.effectiveSampleSize]);
    expectClose(result.gradient, kept.flatMap((g) => expected.gradLogProbTrain[g]!).flat());

    const weights = [...batch.trainable.keys()]
      .filter((i) => batch.trainable[i] === 1)
      .map((i) => Math.exp(batch.trainLogProbs[i]! - batch.rolloutLogProbs[i]!));
    expectClose([effectiveSampleSize(weights)], [expected.effectiveSampleSize]);
  });
});

describe("statistics.json", () => {
  it.each(statistics.wilson95)("Wilson interval of $passes of $runs", ({ passes, runs, low, high }) => {
    const interval = wilson(passes, runs);
    expectClose([interval.low, interval.high], [low, high]);
  });

  it.each(statistics.passAtK)("pass@$k of $passes of $runs", ({ runs, passes, k, passAtK: expected }) => {
    expectClose([passAtK(runs, passes, k)], [expected]);
  });
});
