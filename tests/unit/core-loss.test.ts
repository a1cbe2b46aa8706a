/** Loss kernel: hand-computed tokens, the definition token by token, and finite differences. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LossKind, type LossSettings, policyLoss } from "../../core/loss.ts";
import { type TestTrajectory, tokenBatch } from "./core-helpers.ts";

const settings = (kind: LossKind): LossSettings => ({
  kind,
  threshold: 0.2,
  clipLow: 0.2,
  clipHigh: 0.28,
  ratioLow: 0.5,
  ratioHigh: 2,
});
const kinds: LossKind[] = ["dppo-tv", "two-sided", "ratio-clip"];

/** One trajectory of one trainable token per [p, q], in probabilities. */
const row = (advantage: number, pairs: readonly (readonly [number, number])[]): TestTrajectory => ({
  advantage,
  trainable: pairs.map(() => 1),
  train: pairs.map(([p]) => Math.log(p)),
  rollout: pairs.map(([, q]) => Math.log(q)),
});

describe("policy loss", () => {
  it("of dppo-tv divides by all trainable tokens, those that it drops included", () => {
    // A > 0: 0.8 − 0.4 > 0.2 is dropped, 0.3/0.2 and 0.1/0.6 are kept.
    const rows = [
      row(2, [
        [0.8, 0.4],
        [0.3, 0.2],
        [0.1, 0.6],
      ]),
    ];
    const result = policyLoss(tokenBatch(rows), settings("dppo-tv"));
    expect(result.trainableTokens).toBe(3);
    expect(result.droppedTokens).toBe(1);
    expect(result.loss).toBeCloseTo(-(2 / 3) * (1.5 + 1 / 6), 12);
    expect(result.gradient[0]).toBe(0);
    expect(result.gradient[1]).toBeCloseTo(-(2 / 3) * 1.5, 12);
    expect(result.meanRatio).toBeCloseTo((2 + 1.5 + 1 / 6) / 3, 12);
    expect(result.effectiveSampleSize).toBeCloseTo((2 + 1.5 + 1 / 6) ** 2 / (4 + 2.25 + 1 / 36), 12);
  });

  it("of dppo-tv drops a token only where the policy has moved on in the advantage's direction", () => {
    const dropped = (advantage: number, p: number, q: number) =>
      policyLoss(tokenBatch([row(advantage, [[p, q]])]), settings("dppo-tv")).droppedTokens;
    expect(dropped(1, 0.71, 0.5)).toBe(1);
    expect(dropped(1, 0.29, 0.5)).toBe(0);
    expect(dropped(-1, 0.29, 0.5)).toBe(1);
    expect(dropped(-1, 0.71, 0.5)).toBe(0);
    expect(dropped(0, 0.29, 0.5)).toBe(1);
    // A large ratio of small probabilities is a small move in total variation.
    expect(dropped(1, 0.05, 0.001)).toBe(0);
  });

  it("of ratio-clip keeps the clipped constant in the loss and out of the gradient", () => {
    const result = policyLoss(
      tokenBatch([row(1, [[0.6, 0.3]]), row(-1, [[0.1, 0.4]])]),
      settings("ratio-clip"),
    );
    expect(result.loss).toBeCloseTo(-(1.28 - 0.8) / 2, 12);
    expect([...result.gradient]).toEqual([0, 0]);
    expect(result.droppedTokens).toBe(2);
    const unclipped = policyLoss(
      tokenBatch([row(1, [[0.1, 0.4]]), row(-1, [[0.6, 0.3]])]),
      settings("ratio-clip"),
    );
    expect(unclipped.loss).toBeCloseTo(-(0.25 - 2) / 2, 12);
    expect(unclipped.droppedTokens).toBe(0);
  });

  it.each(kinds)("of nothing is 0 by %s", (kind) => {
    const prompt = { advantage: 1, trainable: [0, 0], train: [0, 0], rollout: [0, 0] };
    for (const rows of [[], [prompt]]) {
      const result = policyLoss(tokenBatch(rows), settings(kind));
      expect(Math.abs(result.loss)).toBe(0);
      expect(result.trainableTokens).toBe(0);
      expect(result.effectiveSampleSize).toBe(0);
      expect([...result.gradient].every((value) => value === 0)).toBe(true);
    }
  });

  const trajectory = fc.integer({ min: 1, max: 8 }).chain((length) => {
    const logProbs = fc.array(fc.double({ min: -6, max: 0, noNaN: true }), {
      minLength: length,
      maxLength: length,
    });
    return fc.record({
      advantage: fc.double({ min: -2, max: 2, noNaN: true }),
      trainable: fc.array(fc.integer({ min: 0, max: 1 }), { minLength: length, maxLength: length }),
      train: logProbs,
      rollout: logProbs,
    });
  });
  const trajectories = fc.array(trajectory, { minLength: 1, maxLength: 5 });

  it("of dppo-tv equals its definition, token by token", () => {
    fc.assert(
      fc.property(trajectories, (rows) => {
        let sum = 0;
        let total = 0;
        let dropped = 0;
        for (const { advantage, trainable, train, rollout } of rows)
          trainable.forEach((flag, i) => {
            if (flag === 0) return;
            total++;
            const difference = Math.exp(train[i]!) - Math.exp(rollout[i]!);
            if (advantage > 0 ? difference > 0.2 : difference < -0.2) dropped++;
            else sum += advantage * Math.exp(train[i]! - rollout[i]!);
          });
        const result = policyLoss(tokenBatch(rows), settings("dppo-tv"));
        expect(result.trainableTokens).toBe(total);
        expect(result.droppedTokens).toBe(dropped);
        expect(result.loss).toBeCloseTo(total === 0 ? 0 : -sum / total, 9);
      }),
    );
  });

  it.each(kinds)("of %s has the gradient that finite differences give", (kind) => {
    fc.assert(
      fc.property(trajectories, fc.nat(), (rows, pick) => {
        const batch = tokenBatch(rows);
        const i = pick % batch.trainLogProbs.length;
        const at = (shift: number) => {
          const trainLogProbs = batch.trainLogProbs.slice();
          trainLogProbs[i]! += shift;
          return policyLoss({ ...batch, trainLogProbs }, settings(kind));
        };
        const h = 1e-6;
        const [below, here, above] = [at(-h), at(0), at(h)];
        // At the edge of a mask the loss has no derivative.
        fc.pre(below.droppedTokens === above.droppedTokens);
        const expected = (above.loss - below.loss) / (2 * h);
        const scale = Math.max(1, Math.abs(expected));
        expect(Math.abs(here.gradient[i]! - expected) / scale).toBeLessThan(1e-4);
      }),
    );
  });
});
