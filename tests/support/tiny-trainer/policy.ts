/** The smallest policy that can be trained: one softmax over eight tokens, whatever came before, in a folder of Hugging Face's layout. */
import { policyLoss } from "../../../core/loss.ts";
import { random } from "../../../core/random.ts";
import type { BatchRow } from "../../../services/trainers/batch.ts";
import type { UpdateMetrics, UpdateSettings } from "../../../services/trainers/trainer.ts";

export const VOCABULARY = 8;

/** Logits per unit of weight: a step of the tests' learning rate moves a probability visibly. */
const SCALE = 8;

export interface TinyState {
  readonly weights: readonly number[];
  readonly first: readonly number[];
  readonly second: readonly number[];
  readonly step: number;
}

const zeros = () => Array.from({ length: VOCABULARY }, () => 0);

export const freshState = (weights: readonly number[]): TinyState => ({
  weights,
  first: zeros(),
  second: zeros(),
  step: 0,
});

export const startWeights = (seed: number): readonly number[] =>
  zeros().map((_, token) => random(seed, "weights", token).next() * 0.1);

function logProbs(weights: readonly number[]): readonly number[] {
  const logits = weights.map((weight) => SCALE * weight);
  const most = Math.max(...logits);
  const norm = most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  return logits.map((logit) => logit - norm);
}

/** Two groups of two rollouts, with advantages of both signs: each row is a prompt of two tokens and six samples. */
export function sampleRows(weights: readonly number[], seed: number): readonly BatchRow[] {
  const log = logProbs(weights);
  return [0, 1, 2, 3].map((member) => {
    const draw = random(seed, "row", member);
    const sampled = Array.from({ length: 6 }, () => {
      let left = draw.next();
      let token = 0;
      for (; token < VOCABULARY - 1 && left >= Math.exp(log[token]!); token++) left -= Math.exp(log[token]!);
      return token;
    });
    const raw = member % 2 === 0 ? 1 : 0;
    return {
      ...{ group: `group-${member >> 1}`, rollout: `rollout-${member}`, raw, reward: raw },
      advantage: raw === 1 ? 1 : -1,
      tokens: [0, 1, ...sampled],
      trainable: [0, 0, ...sampled.map(() => 1 as const)],
      logProbs: [0, 0, ...sampled.map((token) => log[token]!)],
    } as const;
  });
}

/** One step of Adam on the loss of core/loss. */
export function train(
  before: TinyState,
  rows: readonly BatchRow[],
  settings: Omit<UpdateSettings, "freshOptimizer">,
): { readonly state: TinyState; readonly metrics: UpdateMetrics } {
  const log = logProbs(before.weights);
  const tokens = rows.flatMap((row) => [...row.tokens]);
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, index) => {
    offsets[index + 1] = offsets[index]! + row.tokens.length;
  });
  const { loss, gradient, ...counts } = policyLoss(
    {
      trainLogProbs: Float64Array.from(tokens, (token) => log[token]!),
      rolloutLogProbs: Float64Array.from(rows.flatMap((row) => [...row.logProbs])),
      trainable: Uint8Array.from(rows.flatMap((row) => [...row.trainable])),
      offsets,
      advantages: Float64Array.from(rows, (row) => row.advantage),
    },
    settings.loss,
  );
  const slopes = zeros();
  tokens.forEach((token, at) => {
    for (let other = 0; other < VOCABULARY; other++)
      slopes[other]! += gradient[at]! * SCALE * ((other === token ? 1 : 0) - Math.exp(log[other]!));
  });
  const gradientNorm = Math.hypot(...slopes);
  const { learningRate, beta1, beta2, epsilon, clipNorm } = settings.optimizer;
  const clip = Math.min(1, clipNorm / gradientNorm);
  const step = before.step + 1;
  const first = before.first.map((value, at) => beta1 * value + (1 - beta1) * slopes[at]! * clip);
  const second = before.second.map((value, at) => beta2 * value + (1 - beta2) * (slopes[at]! * clip) ** 2);
  const weights = before.weights.map(
    (weight, at) =>
      weight -
      (learningRate * (first[at]! / (1 - beta1 ** step))) /
        (Math.sqrt(second[at]! / (1 - beta2 ** step)) + epsilon),
  );
  const entropy = -log.reduce((sum, value) => sum + value * Math.exp(value), 0);
  return { state: { weights, first, second, step }, metrics: { loss, gradientNorm, entropy, ...counts } };
}

/** A safetensors file of one tensor: https://github.com/huggingface/safetensors#format */
export function encodeWeights(weights: readonly number[]): Buffer {
  const tensor = { dtype: "F64", shape: [VOCABULARY], data_offsets: [0, 8 * VOCABULARY] };
  const header = Buffer.from(JSON.stringify({ weights: tensor }));
  const bytes = Buffer.alloc(8 + header.length + 8 * VOCABULARY);
  bytes.writeBigUInt64LE(BigInt(header.length));
  header.copy(bytes, 8);
  weights.forEach((weight, at) => {
    bytes.writeDoubleLE(weight, 8 + header.length + 8 * at);
  });
  return bytes;
}

export function decodeWeights(bytes: Buffer): readonly number[] {
  const data = 8 + Number(bytes.readBigUInt64LE());
  return zeros().map((_, at) => bytes.readDoubleLE(data + 8 * at));
}
