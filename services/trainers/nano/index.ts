/**
 * Trainer of the embedded policy: batch and parent in, new policy out. It runs on the CPU, in float64 and in one fixed order
 * of sums, so the same parent, batch and settings give the same bytes; the new policy is named by them, so an update that
 * runs twice leaves one policy.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ArtifactKind, ArtifactRef } from "../../../core/artifact.ts";
import { policyLoss, type TokenBatch } from "../../../core/loss.ts";
import { policyId } from "../../../core/policy.ts";
import {
  type Conversation,
  decodeCheckpoint,
  encodeCheckpoint,
  freshCheckpoint,
  type NanoCheckpoint,
  SLOTS,
} from "../../policy/index.ts";
import { decodeBatch } from "../batch.ts";
import { TrainerError } from "../errors.ts";
import type { Trainer, UpdateResult, UpdateSettings } from "../trainer.ts";
import { adamStep } from "./adam.ts";
import { createReplay, type ScoredToken } from "./replay.ts";

export interface NanoTrainerServices {
  readonly artifacts: {
    get(ref: ArtifactRef): Promise<Uint8Array>;
    put(bytes: Uint8Array, kind: ArtifactKind): Promise<ArtifactRef>;
  };
  readonly openConversation: () => Conversation;
}

export function createNanoTrainer({ artifacts, openConversation }: NanoTrainerServices): Trainer {
  return {
    name: "nano",

    async update(batch, parent, settings, progress) {
      const rows = decodeBatch(await artifacts.get(batch));
      if (rows.length === 0) throw new TrainerError("batch", "the batch has no rows");
      const loaded = decodeCheckpoint(await artifacts.get(parent.checkpoint));
      const before = settings.freshOptimizer ? freshCheckpoint(loaded.weights) : loaded;
      const score = createReplay(openConversation, before.weights);
      const scored: ScoredRow[] = [];
      for (const row of rows) {
        scored.push({ advantage: row.advantage, tokens: score(row) });
        progress(scored.length, rows.length);
        // Heartbeats and cancellation need the event loop between rows.
        await nextTurn();
      }
      const { checkpoint, metrics } = step(before, scored, settings);
      const ref = await artifacts.put(encodeCheckpoint(checkpoint), "policy");
      const id = policyId("nano", ref.sha256);
      return { policy: { id, checkpoint: ref, parent: parent.id, step: checkpoint.step }, metrics };
    },

    close: async () => {},
  };
}

interface ScoredRow {
  readonly advantage: number;
  /** Trainable tokens only: prompts are most of a row, and the loss does not read them. */
  readonly tokens: readonly ScoredToken[];
}

function step(
  before: NanoCheckpoint,
  rows: readonly ScoredRow[],
  settings: UpdateSettings,
): { checkpoint: NanoCheckpoint; metrics: UpdateResult["metrics"] } {
  const tokens = rows.flatMap((row) => row.tokens);
  const { loss, gradient: tokenGradient, ...counts } = policyLoss(tokenBatch(rows, tokens), settings.loss);
  const gradient = weightGradient(tokens, tokenGradient);
  const { state, gradientNorm } = adamStep(before, gradient, settings.optimizer);
  if (!Number.isFinite(loss) || !Number.isFinite(gradientNorm))
    throw new TrainerError(
      "diverged",
      `loss ${loss}, gradient norm ${gradientNorm}: expected finite numbers`,
    );
  const entropies = tokens.reduce((sum, token) => sum + token.entropy, 0);
  const entropy = tokens.length === 0 ? 0 : entropies / tokens.length;
  return { checkpoint: state, metrics: { loss, gradientNorm, entropy, ...counts } };
}

function tokenBatch(rows: readonly ScoredRow[], tokens: readonly ScoredToken[]): TokenBatch {
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, index) => {
    offsets[index + 1] = offsets[index]! + row.tokens.length;
  });
  return {
    trainLogProbs: Float64Array.from(tokens, (token) => token.logProb),
    rolloutLogProbs: Float64Array.from(tokens, (token) => token.rolloutLogProb),
    trainable: new Uint8Array(tokens.length).fill(1),
    offsets,
    advantages: Float64Array.from(rows, (row) => row.advantage),
  };
}

/** Chain rule: Σ over tokens of dL / d log p times d log p / d weights. */
function weightGradient(tokens: readonly ScoredToken[], tokenGradient: Float64Array): Float64Array {
  const total = new Float64Array(SLOTS);
  tokens.forEach(({ gradient: { slots, values } }, i) => {
    const factor = tokenGradient[i]!;
    for (let k = 0; k < slots.length; k++) total[slots[k]!]! += factor * values[k]!;
  });
  return total;
}
