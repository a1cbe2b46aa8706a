/** What every trainer must do. Each implementation's test calls this with a way to open one and a batch it can learn from. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PolicyRef, policyId, policyKind } from "../../core/policy.ts";
import type { ArtifactStore } from "../../services/store/index.ts";
import { sha256Of } from "../../services/store/index.ts";
import {
  type BatchRow,
  encodeBatch,
  type Trainer,
  type TrainerError,
  type UpdateSettings,
} from "../../services/trainers/index.ts";

export interface TrainerUnderTest {
  readonly trainer: Trainer;
  /** Another one of the same kind on the same artifacts: what a retry on another machine is. */
  another(): Trainer | Promise<Trainer>;
  readonly artifacts: ArtifactStore;
  /** A policy in the store. */
  readonly parent: PolicyRef;
  /** At least two groups sampled by `parent`, with advantages of both signs. */
  readonly rows: readonly BatchRow[];
  close(): Promise<void>;
}

export const SETTINGS: UpdateSettings = {
  loss: { kind: "dppo-tv", threshold: 0.2, clipLow: 0.2, clipHigh: 0.28, ratioLow: 0.5, ratioHigh: 2 },
  optimizer: { learningRate: 0.05, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 },
  freshOptimizer: true,
};

export function trainerContract(name: string, open: () => Promise<TrainerUnderTest>): void {
  describe(`${name}: a trainer`, () => {
    let under: TrainerUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(async () => {
      await under.trainer.close();
      await under.close();
    });
    const put = (rows: readonly BatchRow[]) => under.artifacts.put(encodeBatch(rows), "batch");
    const update = async (parent: PolicyRef, change: Partial<UpdateSettings> = {}, trainer = under.trainer) =>
      trainer.update(await put(under.rows), parent, { ...SETTINGS, ...change }, () => {});

    it("names the new policy by its stored content, its parent and its step", async () => {
      const { policy } = await update(under.parent);
      const bytes = await under.artifacts.get(policy.checkpoint);
      expect(policy.checkpoint).toMatchObject({
        sha256: sha256Of(bytes),
        bytes: bytes.length,
        kind: "policy",
      });
      expect(policy.id).toBe(policyId(policyKind(under.parent.id), policy.checkpoint.sha256));
      expect(policy.parent).toBe(under.parent.id);
      expect(policy.step).toBe(1);
      expect(policy.id).not.toBe(under.parent.id);
    });

    it("gives the same policy and metrics for the same parent, batch and settings, wherever it runs", async () => {
      const first = await update(under.parent);
      expect(await update(under.parent)).toEqual(first);
      expect(await update(under.parent, {}, await under.another())).toEqual(first);
    });

    it("leaves the parent as it was", async () => {
      const before = sha256Of(await under.artifacts.get(under.parent.checkpoint));
      await update(under.parent);
      expect(sha256Of(await under.artifacts.get(under.parent.checkpoint))).toBe(before);
    });

    it("measures a policy on its own samples: every ratio is 1, so nothing is dropped", async () => {
      const { metrics } = await update(under.parent);
      const trainable = under.rows.reduce(
        (sum, row) => sum + Array.from<number>(row.trainable).reduce((n, flag) => n + flag, 0),
        0,
      );
      expect(metrics.trainableTokens).toBe(trainable);
      expect(metrics.droppedTokens).toBe(0);
      expect(metrics.meanRatio).toBeCloseTo(1, 9);
      expect(metrics.effectiveSampleSize).toBeCloseTo(trainable, 6);
      expect(metrics.gradientNorm).toBeGreaterThan(0);
      expect(metrics.entropy).toBeGreaterThan(0);
    });

    it("learns: over repeated updates on one batch the loss falls, and the trust region drops what has moved far", async () => {
      const open = { ...SETTINGS.loss, threshold: 1 };
      const losses: number[] = [];
      let policy = under.parent;
      for (let i = 0; i < 6; i++) {
        const result = await update(policy, { loss: open, freshOptimizer: i === 0 });
        losses.push(result.metrics.loss);
        policy = result.policy;
      }
      expect(policy.step).toBe(6);
      for (let i = 1; i < losses.length; i++) expect(losses[i]).toBeLessThan(losses[i - 1]!);
      const { metrics } = await update(policy, { freshOptimizer: false });
      expect(metrics.droppedTokens).toBeGreaterThan(0);
      expect(metrics.effectiveSampleSize).toBeLessThan(metrics.trainableTokens);
    });

    it("keeps its moments from update to update, and forgets them where the optimizer starts fresh", async () => {
      const { policy } = await update(under.parent);
      const continued = await update(policy, { freshOptimizer: false });
      const fresh = await update(policy, { freshOptimizer: true });
      expect(continued.policy.step).toBe(2);
      expect(fresh.policy.step).toBe(1);
      expect(continued.policy.id).not.toBe(fresh.policy.id);
      expect(continued.metrics).toEqual(fresh.metrics);
    });

    it("tells its progress, up to all rows, and stops when that is refused", async () => {
      const batch = await put(under.rows);
      const seen: [number, number][] = [];
      await under.trainer.update(batch, under.parent, SETTINGS, (done, total) => seen.push([done, total]));
      expect(seen.at(-1)).toEqual([under.rows.length, under.rows.length]);
      expect(seen.map(([done]) => done)).toEqual(seen.map(([done]) => done).sort((a, b) => a - b));
      const cancelled = new Error("cancelled");
      const stopped = under.trainer.update(batch, under.parent, SETTINGS, () => {
        throw cancelled;
      });
      await expect(stopped).rejects.toBe(cancelled);
    });

    it("refuses a batch without rows", async () => {
      const empty = under.trainer.update(await put([]), under.parent, SETTINGS, () => {});
      await expect(empty).rejects.toMatchObject({
        name: "TrainerError",
        kind: "batch",
      } satisfies Partial<TrainerError>);
    });
  });
}
