/** The torch trainer computes core/loss and core/advantage: on the same batch files, through a real transformer in float32. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { advantages } from "../../core/advantage.ts";
import { type LossKind, type LossSettings, policyLoss } from "../../core/loss.ts";
import { type BatchRow, encodeBatch } from "../../services/trainers/index.ts";
import { makeTinyModel, startAnswering } from "../support/gpu-path.ts";

/** The bound of the comparison, in float32: absolute, or relative where numbers are large. */
const TOLERANCE = 1e-5;
const BATCHES = 200;
/** Of the tiny model, below its special tokens. */
const TOKENS = 256;

interface Answer {
  readonly logProbs: readonly number[];
  readonly gradient: readonly number[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly packs: number;
}

const folder = mkdtempSync(join(tmpdir(), "tadpole-torch-loss-"));
const file = join(folder, "batch.arrow");
let program: ReturnType<typeof startAnswering>;

beforeAll(async () => {
  const model = await makeTinyModel(join(folder, "model"));
  program = startAnswering([join(import.meta.dirname, "python/losses.py"), model, "40"]);
});
afterAll(() => {
  program.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Evenly spread numbers: `fc.double` gives mostly tiny ones. */
const between = (min: number, max: number) =>
  fc.integer({ min: 0, max: 1000 }).map((i) => min + ((max - min) * i) / 1000);

/** A row before its log q is known: `shift` is how far log p will be from it. */
const draft = fc
  .array(
    fc.record({
      token: fc.nat(TOKENS - 1),
      trainable: fc.boolean(),
      shift: fc.oneof(fc.constant(0), between(-0.6, 0.6), between(-4, 4)),
    }),
    { minLength: 6, maxLength: 24 },
  )
  .chain((tokens) =>
    fc.record({
      // The first token has nothing before it that it could be sampled from.
      tokens: fc.constant(tokens.map((each, i) => (i === 0 ? { ...each, trainable: false } : each))),
      advantage: fc.oneof(fc.constant(0), between(-3, 3)),
    }),
  );
type Draft = typeof draft extends fc.Arbitrary<infer T> ? T : never;

const settings = fc.record({
  kind: fc.constantFrom<LossKind>("dppo-tv", "two-sided", "ratio-clip"),
  // A model that knows nothing gives every token about one percent.
  threshold: fc.oneof(
    between(-4, -2).map((exponent) => 10 ** exponent),
    fc.constant(0.2),
  ),
  clipLow: between(0, 0.5),
  clipHigh: between(0, 0.5),
  ratioLow: between(0.1, 0.9),
  ratioHigh: between(1.1, 5),
}) satisfies fc.Arbitrary<LossSettings>;

const batches = fc.record({ drafts: fc.array(draft, { minLength: 2, maxLength: 5 }), settings });

function rowsOf(drafts: readonly Draft[], logProb: () => number): BatchRow[] {
  return drafts.map(({ tokens, advantage }, i) => ({
    group: "g",
    rollout: `r${i}`,
    advantage,
    reward: 0,
    raw: 0,
    tokens: tokens.map(({ token }) => token),
    trainable: tokens.map(({ trainable }) => (trainable ? 1 : 0)),
    logProbs: tokens.map(({ trainable, shift }) => (trainable ? Math.min(0, logProb() - shift) : 0)),
  }));
}

const write = (rows: readonly BatchRow[]) => writeFileSync(file, encodeBatch(rows));

/** Writes the batch whose log q are as far from the model's log p as the drafts say. */
async function makeBatch(drafts: readonly Draft[]): Promise<BatchRow[]> {
  write(rowsOf(drafts, () => -1));
  const { logProbs } = await program.ask<{ logProbs: number[] }>({ op: "logProbs", batch: file });
  let next = 0;
  const rows = rowsOf(drafts, () => logProbs[next++]!);
  expect(next).toBe(logProbs.length);
  write(rows);
  return rows;
}

/** core/loss of the batch's trainable tokens, for given log p. */
function expected(rows: readonly BatchRow[], logProbs: readonly number[], loss: LossSettings) {
  const rollout = rows.flatMap((row) => Array.from(row.logProbs).filter((_, i) => row.trainable[i] === 1));
  const offsets = [0];
  for (const { trainable } of rows)
    offsets.push(offsets.at(-1)! + Array.from(trainable).filter((flag) => flag === 1).length);
  return policyLoss(
    {
      trainLogProbs: Float64Array.from(logProbs),
      rolloutLogProbs: Float64Array.from(rollout),
      trainable: new Uint8Array(rollout.length).fill(1),
      offsets: Int32Array.from(offsets),
      advantages: Float64Array.from(rows, (row) => row.advantage),
    },
    loss,
  );
}

function close(actual: number, wanted: number, what: string): void {
  const bound = TOLERANCE * Math.max(1, Math.abs(wanted));
  expect(Math.abs(actual - wanted), `${what}: ${actual}, expected ${wanted}`).toBeLessThanOrEqual(bound);
}

describe("the torch trainer's losses", () => {
  it(`are core/loss over ${BATCHES} random batches: value, masks, gradients by token and of the weights, metrics`, async () => {
    const seen = { packed: 0, alone: 0 };
    const masks: Record<string, { kept: number; dropped: number }> = {};
    await fc.assert(
      fc.asyncProperty(batches, async ({ drafts, settings }) => {
        const rows = await makeBatch(drafts);
        const { logProbs, gradient, metrics, packs } = await program.ask<Answer>({
          op: "loss",
          batch: file,
          settings,
        });
        const wanted = expected(rows, logProbs, settings);
        close(metrics.loss!, wanted.loss, "loss");
        expect(gradient).toHaveLength(wanted.gradient.length);
        wanted.gradient.forEach((value, i) => {
          // A token that is dropped has no gradient at all.
          if (value === 0) expect(gradient[i]! + 0).toBe(0);
          else close(gradient[i]!, value, `gradient of token ${i}`);
        });
        expect(metrics.trainableTokens).toBe(wanted.trainableTokens);
        expect(metrics.droppedTokens).toBe(wanted.droppedTokens);
        close(metrics.meanRatio!, wanted.meanRatio, "mean ratio");
        close(metrics.effectiveSampleSize!, wanted.effectiveSampleSize, "effective sample size");

        const weights = await program.ask<{ largest: number; farthest: number }>({
          op: "weights",
          batch: file,
          gradient: [...wanted.gradient],
        });
        expect(weights.farthest).toBeLessThanOrEqual(TOLERANCE * Math.max(1, weights.largest));

        seen[packs > 0 && packs < rows.length ? "packed" : "alone"]++;
        masks[settings.kind] ??= { kept: 0, dropped: 0 };
        const mask = masks[settings.kind]!;
        mask.dropped += wanted.droppedTokens;
        mask.kept += wanted.trainableTokens - wanted.droppedTokens;
      }),
      { numRuns: BATCHES, seed: 7 },
    );
    // The batches were such that it could have failed.
    expect(seen.packed).toBeGreaterThan(BATCHES / 5);
    expect(Object.keys(masks).sort()).toEqual(["dppo-tv", "ratio-clip", "two-sided"]);
    for (const { kept, dropped } of Object.values(masks)) {
      expect(kept).toBeGreaterThan(100);
      expect(dropped).toBeGreaterThan(100);
    }
  });

  it("of the supervised kind are the mean negative log-likelihood", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(draft, { minLength: 1, maxLength: 4 }), async (drafts) => {
        await makeBatch(drafts);
        const question = { op: "loss", batch: file, settings: { kind: "supervised" } };
        const { logProbs, gradient, metrics } = await program.ask<Answer>(question);
        const tokens = Math.max(1, logProbs.length);
        close(metrics.loss!, -logProbs.reduce((sum, value) => sum + value, 0) / tokens, "loss");
        for (const value of gradient) close(value, -1 / tokens, "gradient");
      }),
      { numRuns: 20, seed: 7 },
    );
  });

  it("have core/advantage's advantages, to the last bit", async () => {
    const estimator = fc.constantFrom(
      ...(["group-std-population", "group-std-sample", "no-std", "leave-one-out"] as const),
    );
    const rewards = fc.array(between(-1, 2), { minLength: 1, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(estimator, rewards, async (estimator, rewards) => {
        const answer = await program.ask<{ advantages: number[] }>({ op: "advantages", rewards, estimator });
        expect(answer.advantages).toEqual(advantages(rewards, { estimator }).map((value) => value + 0));
      }),
      { numRuns: 100, seed: 7 },
    );
  });
});
