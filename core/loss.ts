/**
 * Policy-gradient losses over a batch's tokens, with their gradient (docs/method.md §6). All of them are
 * L = −(1/|T|) Σ surrogate, where T holds *all* trainable tokens of the batch: a token that the trust region drops adds
 * nothing to the sum but still counts in |T|. Groups without variance must be left out by the caller.
 */

export type LossKind = "dppo-tv" | "two-sided" | "ratio-clip";

export interface LossSettings {
  readonly kind: LossKind;
  /** dppo-tv: bound on p - q, in probability. Paper: 0.2. */
  readonly threshold: number;
  /** ratio-clip: 1 - clipLow .. 1 + clipHigh (clip-higher: DAPO, arXiv 2503.14476). */
  readonly clipLow: number;
  readonly clipHigh: number;
  /** two-sided: kept if ratioLow < p/q < ratioHigh. */
  readonly ratioLow: number;
  readonly ratioHigh: number;
}

/** Tokens of all trajectories, one after the other: N tokens of R trajectories. */
export interface TokenBatch {
  /** [N] log p: nats, of the policy being trained; at most 0. Read only where trainable. */
  readonly trainLogProbs: Float64Array;
  /** [N] log q: nats, as recorded at sampling time; at most 0. Read only where trainable. */
  readonly rolloutLogProbs: Float64Array;
  /** [N] 1 = sampled by the policy. */
  readonly trainable: Uint8Array;
  /** [R + 1] Trajectory r has the tokens offsets[r] .. offsets[r + 1] - 1. */
  readonly offsets: Int32Array;
  /** [R] Advantage of every trainable token of the trajectory. */
  readonly advantages: Float64Array;
}

export interface LossResult {
  readonly loss: number;
  /** [N] dL / d trainLogProbs; 0 where not trainable or dropped. */
  readonly gradient: Float64Array;
  /** |T| */
  readonly trainableTokens: number;
  /** Trainable tokens without a gradient because of the trust region. */
  readonly droppedTokens: number;
  /** (Σw)² / Σw² with w = p/q over the trainable tokens, in tokens; 0 without any. */
  readonly effectiveSampleSize: number;
  /** Mean of p/q over the trainable tokens; 1 without any. */
  readonly meanRatio: number;
}

/**
 * Loss and gradient. Every surrogate is A·p/q where it is kept, so its derivative with respect to log p is its own value;
 * the masks carry no gradient.
 *
 * - `dppo-tv` drops a token if A > 0 and p − q > threshold, or A ≤ 0 and p − q < −threshold.
 * - `two-sided` keeps a token if ratioLow < p/q < ratioHigh.
 * - `ratio-clip` is min(A·r, A·clip(r, 1 − clipLow, 1 + clipHigh)); a clipped token is a constant, so it counts as dropped.
 */
export function policyLoss(batch: TokenBatch, settings: LossSettings): LossResult {
  const { trainLogProbs, rolloutLogProbs, trainable, offsets, advantages } = batch;
  const gradient = new Float64Array(trainLogProbs.length);
  const tokens = countTrainable(batch);
  const scale = tokens === 0 ? 0 : -1 / tokens;
  let surrogate = 0;
  let dropped = 0;
  let ratios = 0;
  let squares = 0;
  for (let row = 0; row < advantages.length; row++) {
    const advantage = advantages[row]!;
    const [low, high] = safeRatios(advantage, settings);
    const end = offsets[row + 1]!;
    for (let i = offsets[row]!; i < end; i++) {
      if (trainable[i] === 0) continue;
      const logP = trainLogProbs[i]!;
      const logQ = rolloutLogProbs[i]!;
      const ratio = Math.exp(logP - logQ);
      ratios += ratio;
      squares += ratio * ratio;
      if ((ratio > low && ratio < high) || keptOutside(logP, logQ, advantage, settings)) {
        const value = advantage * ratio;
        surrogate += value;
        gradient[i] = scale * value;
      } else {
        dropped++;
        if (settings.kind === "ratio-clip") surrogate += advantage * (advantage > 0 ? high : low);
      }
    }
  }
  return {
    loss: scale * surrogate,
    gradient,
    trainableTokens: tokens,
    droppedTokens: dropped,
    effectiveSampleSize: squares === 0 ? 0 : (ratios * ratios) / squares,
    meanRatio: tokens === 0 ? 1 : ratios / tokens,
  };
}

function countTrainable({ trainable, offsets, advantages }: TokenBatch): number {
  const end = offsets[advantages.length] ?? 0;
  let count = 0;
  for (let i = offsets[0] ?? 0; i < end; i++) if (trainable[i] !== 0) count++;
  return count;
}

/**
 * Ratios between which a token is kept for certain. For dppo-tv these are bounds that spare two exponentials per token:
 * p − q = p (1 − 1/r) <= 1 − 1/r and q − p = q (1 − r) <= 1 − r, since probabilities are at most 1.
 */
function safeRatios(advantage: number, settings: LossSettings): [low: number, high: number] {
  const { kind, threshold } = settings;
  if (kind === "two-sided") return [settings.ratioLow, settings.ratioHigh];
  if (kind === "ratio-clip")
    return [
      advantage < 0 ? 1 - settings.clipLow : Number.NEGATIVE_INFINITY,
      advantage > 0 ? 1 + settings.clipHigh : Number.POSITIVE_INFINITY,
    ];
  if (advantage > 0)
    return [Number.NEGATIVE_INFINITY, threshold < 1 ? 1 / (1 - threshold) : Number.POSITIVE_INFINITY];
  return [1 - threshold, Number.POSITIVE_INFINITY];
}

function keptOutside(logP: number, logQ: number, advantage: number, settings: LossSettings): boolean {
  if (settings.kind !== "dppo-tv") return false;
  const difference = Math.exp(logP) - Math.exp(logQ);
  return advantage > 0 ? difference <= settings.threshold : difference >= -settings.threshold;
}
