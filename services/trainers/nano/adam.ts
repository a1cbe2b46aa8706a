/**
 * Adam with decoupled weight decay and clipping by the gradient's global norm, in float64. Sources: Kingma and Ba,
 * arXiv 1412.6980; Loshchilov and Hutter, arXiv 1711.05101.
 */
import type { ExperimentSettings } from "../../../core/experiment.ts";

export interface AdamState {
  readonly weights: Float64Array;
  readonly moment1: Float64Array;
  readonly moment2: Float64Array;
  /** Steps already taken. */
  readonly step: number;
}

export interface AdamStep {
  readonly state: AdamState;
  /** Euclidean norm before clipping. */
  readonly gradientNorm: number;
}

/** One step against `gradient` (same length as the weights). The given state is left as it is. */
export function adamStep(
  { weights, moment1, moment2, step: taken }: AdamState,
  gradient: Float64Array,
  { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm }: ExperimentSettings["optimizer"],
): AdamStep {
  let squares = 0;
  for (let i = 0; i < gradient.length; i++) squares += gradient[i]! * gradient[i]!;
  const gradientNorm = Math.sqrt(squares);
  const clip = gradientNorm > clipNorm ? clipNorm / gradientNorm : 1;

  const step = taken + 1;
  const correction1 = 1 - beta1 ** step;
  const correction2 = 1 - beta2 ** step;
  const next = { weights: weights.slice(), moment1: moment1.slice(), moment2: moment2.slice(), step };
  for (let i = 0; i < gradient.length; i++) {
    const g = gradient[i]! * clip;
    const m = beta1 * moment1[i]! + (1 - beta1) * g;
    const v = beta2 * moment2[i]! + (1 - beta2) * g * g;
    next.moment1[i] = m;
    next.moment2[i] = v;
    next.weights[i] =
      weights[i]! * (1 - learningRate * weightDecay) -
      (learningRate * (m / correction1)) / (Math.sqrt(v / correction2) + epsilon);
  }
  return { state: next, gradientNorm };
}
