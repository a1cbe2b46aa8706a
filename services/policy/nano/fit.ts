/** Maximum likelihood for the start weights: Adam on softmax choices. */
import { random } from "../../../core/random.ts";
import type { Candidates } from "./hashing.ts";
import { SLOTS } from "./hashing.ts";
import { scoreCandidates } from "./sampling.ts";

/** A choice to imitate. */
export interface Example {
  readonly candidates: Candidates;
  /** Added to the scores; empty = none. */
  readonly shifts: readonly number[];
  /** Pairs of candidate and probability; the probabilities sum to 1. */
  readonly targets: readonly (readonly [index: number, probability: number])[];
}

export interface FitSettings {
  readonly epochs: number;
  readonly learningRate: number;
  /** Strength of the pull towards zero (L2). */
  readonly decay: number;
}

const BATCH = 32;

/** Adds the gradient of the cross-entropy to `gradient` and returns the loss, in nats. */
function accumulate(
  { candidates, shifts, targets }: Example,
  weights: Float64Array,
  gradient: Float64Array,
  touched: Set<number>,
): number {
  const { offsets, features, values } = candidates;
  const scores = scoreCandidates(candidates, weights);
  shifts.forEach((shift, index) => {
    scores[index]! += shift;
  });
  const top = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  const wanted = new Map(targets);
  let loss = 0;
  for (const [index, probability] of targets) loss -= probability * (scores[index]! - top - Math.log(total));
  for (let c = 0; c < scores.length; c++) {
    const delta = Math.exp(scores[c]! - top) / total - (wanted.get(c) ?? 0);
    for (let k = offsets[c]!; k < offsets[c + 1]!; k++) {
      gradient[features[k]!]! += delta * values[k]!;
      touched.add(features[k]!);
    }
  }
  return loss;
}

/** [SLOTS] weights, from zero. The same arguments give the same bits. */
export function fit(
  examples: readonly Example[],
  settings: FitSettings,
  seed: number,
  log?: (line: string) => void,
): Float64Array {
  const weights = new Float64Array(SLOTS);
  const [moment1, moment2, gradient] = [1, 2, 3].map(() => new Float64Array(SLOTS)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  let step = 0;
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    const order = random(seed, "fit", epoch).shuffle(examples);
    const rate = settings.learningRate * (1 - epoch / settings.epochs);
    let loss = 0;
    for (let at = 0; at < order.length; at += BATCH) {
      const touched = new Set<number>();
      const batch = order.slice(at, at + BATCH);
      for (const example of batch) loss += accumulate(example, weights, gradient, touched);
      step++;
      for (const slot of touched) {
        const g = gradient[slot]! / batch.length + settings.decay * weights[slot]!;
        gradient[slot] = 0;
        moment1[slot] = 0.9 * moment1[slot]! + 0.1 * g;
        moment2[slot] = 0.99 * moment2[slot]! + 0.01 * g * g;
        const mean = moment1[slot]! / (1 - 0.9 ** step);
        const variance = moment2[slot]! / (1 - 0.99 ** step);
        weights[slot]! -= (rate * mean) / (Math.sqrt(variance) + 1e-8);
      }
    }
    log?.(`epoch ${epoch + 1} of ${settings.epochs}: ${(loss / order.length).toFixed(3)} nats per choice`);
  }
  return weights;
}
