/** The policy's distribution over the candidates of one token, and how its log-probability depends on the weights. */
import type { Candidates } from "../../policy/index.ts";

/** d log p(chosen) / d weights, at the slots that the candidates use. */
export interface SparseGradient {
  readonly slots: Int32Array;
  readonly values: Float64Array;
}

export interface TokenScore {
  /** log p of the chosen candidate, nats. */
  readonly logProb: number;
  /** Of the distribution, nats. */
  readonly entropy: number;
  readonly gradient: SparseGradient;
}

/**
 * p(c) ∝ exp(Σ_k weights[features_k] · values_k), k over candidate c's features; so d log p(chosen) / d weights is the chosen
 * candidate's features minus their expectation. Sums run in the candidates' order, so that every machine gets the same
 * bits. `scratch` ([SLOTS]) is zero before and after.
 */
export function scoreToken(
  { offsets, features, values }: Candidates,
  chosen: number,
  weights: Float64Array,
  scratch: Float64Array,
): TokenScore {
  const count = offsets.length - 1;
  const logits = new Float64Array(count);
  let top = Number.NEGATIVE_INFINITY;
  for (let c = 0; c < count; c++) {
    let logit = 0;
    const end = offsets[c + 1]!;
    for (let k = offsets[c]!; k < end; k++) logit += weights[features[k]!]! * values[k]!;
    logits[c] = logit;
    if (logit > top) top = logit;
  }
  let total = 0;
  for (let c = 0; c < count; c++) total += Math.exp(logits[c]! - top);
  const logTotal = top + Math.log(total);

  let entropy = 0;
  const touched: number[] = [];
  for (let c = 0; c < count; c++) {
    const logP = logits[c]! - logTotal;
    const p = Math.exp(logP);
    entropy -= p * logP;
    const share = (c === chosen ? 1 : 0) - p;
    const end = offsets[c + 1]!;
    for (let k = offsets[c]!; k < end; k++) {
      const slot = features[k]!;
      if (scratch[slot] === 0) touched.push(slot);
      scratch[slot]! += share * values[k]!;
    }
  }
  return { logProb: logits[chosen]! - logTotal, entropy, gradient: drain(scratch, touched) };
}

function drain(scratch: Float64Array, touched: readonly number[]): SparseGradient {
  const slots: number[] = [];
  const values: number[] = [];
  for (const slot of touched) {
    // A slot whose sum passed through exactly 0 stands in the list twice; the second time it has been taken.
    if (scratch[slot] === 0) continue;
    slots.push(slot);
    values.push(scratch[slot]!);
    scratch[slot] = 0;
  }
  return { slots: Int32Array.from(slots), values: Float64Array.from(values) };
}
