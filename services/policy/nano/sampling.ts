/** Draws one token from scored candidates. Pure: the randomness is an argument. */
import type { Sampling } from "../../../core/trajectory.ts";

export interface Draw {
  readonly index: number;
  /** Nats, under the distribution that was drawn from: after temperature and all filters. 0 for a greedy choice. */
  readonly logProb: number;
}

/** [candidates] Σ weights[feature] · value, in the candidates' order: the trainer's sum, to the bit. */
export function scoreCandidates(
  candidates: { readonly offsets: Int32Array; readonly features: Int32Array; readonly values: Float64Array },
  weights: Float64Array,
): Float64Array {
  const { offsets, features, values } = candidates;
  const scores = new Float64Array(offsets.length - 1);
  for (let c = 0; c < scores.length; c++) {
    let score = 0;
    const end = offsets[c + 1]!;
    for (let k = offsets[c]!; k < end; k++) score += weights[features[k]!]! * values[k]!;
    scores[c] = score;
  }
  return scores;
}

/** log(Σ exp(scores)) over the kept candidates, in their order. */
function logSum(scores: Float64Array, kept: (index: number) => boolean): number {
  let top = Number.NEGATIVE_INFINITY;
  for (let c = 0; c < scores.length; c++) if (kept(c) && scores[c]! > top) top = scores[c]!;
  let total = 0;
  for (let c = 0; c < scores.length; c++) if (kept(c)) total += Math.exp(scores[c]! - top);
  return top + Math.log(total);
}

function greedy(scores: Float64Array, tokens: ArrayLike<number>): Draw {
  let best = 0;
  for (let c = 1; c < scores.length; c++)
    if (scores[c]! > scores[best]! || (scores[c] === scores[best] && tokens[c]! < tokens[best]!)) best = c;
  return { index: best, logProb: 0 };
}

/**
 * Candidates that the filters leave, in vLLM's order: min-p (against the likeliest), then top-k, then top-p (the likeliest whose
 * probabilities reach p). Equal scores are ranked by token. At least one is left.
 */
function keptBy(
  scores: Float64Array,
  tokens: ArrayLike<number>,
  { topP, topK, minP }: Sampling,
): Set<number> {
  const order = Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]! || tokens[a]! - tokens[b]!);
  const floor = minP > 0 ? scores[order[0]!]! + Math.log(minP) : Number.NEGATIVE_INFINITY;
  let left = order.filter((c, rank) => rank === 0 || scores[c]! >= floor);
  if (topK > 0) left = left.slice(0, topK);
  if (topP >= 1) return new Set(left);
  const all = new Set(left);
  const logTotal = logSum(scores, (c) => all.has(c));
  let reached = 0;
  const end = left.findIndex((c) => {
    reached += Math.exp(scores[c]! - logTotal);
    return reached >= topP;
  });
  return new Set(end < 0 ? left : left.slice(0, end + 1));
}

/** `uniform` in [0, 1). `scores` are logits; `tokens` their ids, which only break ties. At least one candidate. */
export function drawToken(
  scores: Float64Array,
  tokens: ArrayLike<number>,
  sampling: Sampling,
  uniform: number,
): Draw {
  if (sampling.temperature === 0) return greedy(scores, tokens);
  const { temperature, topP, topK, minP } = sampling;
  const scaled = temperature === 1 ? scores : scores.map((score) => score / temperature);
  const filtered = topP < 1 || topK > 0 || minP > 0;
  const set = filtered ? keptBy(scaled, tokens, sampling) : null;
  const kept = (c: number) => set === null || set.has(c);
  const logTotal = logSum(scaled, kept);
  let rest = uniform;
  let index = -1;
  for (let c = 0; c < scaled.length; c++) {
    if (!kept(c)) continue;
    const p = Math.exp(scaled[c]! - logTotal);
    // A candidate of probability 0 is never drawn; the last other one takes what rounding left over.
    if (p > 0) index = c;
    rest -= p;
    if (rest < 0 && p > 0) break;
  }
  return { index, logProb: scaled[index]! - logTotal };
}
