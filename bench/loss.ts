/** The loss kernel of `core/loss.ts` against a plain loop that follows the formulas term by term, on the same tokens. */
import { type LossResult, type LossSettings, policyLoss, type TokenBatch } from "../core/loss.ts";
import { random } from "../core/random.ts";
import { type BenchContext, type Measure, measure } from "./bench.ts";
import { interleaved, medians, timed } from "./repeat.ts";

const SEED = 1;
const TRAJECTORIES = 64;
const TOKENS_PER_TRAJECTORY = 8192;
const ROUNDS = 15;
const WARM_UP_ROUNDS = 3;
/** Sums of half a million terms in another order. */
const TOLERANCE = 1e-9;

const KINDS: readonly LossSettings["kind"][] = ["dppo-tv", "two-sided", "ratio-clip"];
const SETTINGS: Omit<LossSettings, "kind"> = {
  threshold: 0.2,
  clipLow: 0.2,
  clipHigh: 0.28,
  ratioLow: 0.5,
  ratioHigh: 2,
};

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const batch = tokenBatch(SEED, TRAJECTORIES, TOKENS_PER_TRAJECTORY);
  const tokens = batch.trainable.length;
  const measures: Measure[] = [];
  for (const kind of KINDS) {
    const settings = { kind, ...SETTINGS };
    const sides = {
      subject: () => timed(() => policyLoss(batch, settings)),
      reference: () => timed(() => plainLoss(batch, settings)),
    };
    await interleaved(WARM_UP_ROUNDS, sides);
    const results = await interleaved(ROUNDS, sides);
    const difference = differenceOf(results.subject[0]!.value, results.reference[0]!.value);
    if (difference !== null) throw new Error(`${kind}: kernel and loop differ in ${difference}`);
    const { subject, reference } = medians(results, ({ seconds }) => tokens / seconds);
    context.progress(
      `${kind}: ${(subject / 1e6).toFixed(1)} million tokens/s, loop ${(reference / 1e6).toFixed(1)}`,
    );
    measures.push(
      measure({ name: kind, value: subject, unit: "tokens/s", reference, better: "higher", goal: 1 }),
    );
  }
  return measures;
}

/** The paper's sums as they are written: every probability, ratio and mask of every token. */
export function plainLoss(batch: TokenBatch, settings: LossSettings): LossResult {
  const { trainLogProbs, rolloutLogProbs, trainable, offsets, advantages } = batch;
  const tokens = trainable.reduce((sum, one) => sum + one, 0);
  const gradient = new Float64Array(trainLogProbs.length);
  let surrogates = 0;
  let dropped = 0;
  let ratios = 0;
  let squares = 0;
  for (let row = 0; row < advantages.length; row++)
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
      if (trainable[i] === 0) continue;
      const p = Math.exp(trainLogProbs[i]!);
      const q = Math.exp(rolloutLogProbs[i]!);
      const advantage = advantages[row]!;
      const { surrogate, kept } = surrogateOf(p, q, advantage, settings);
      surrogates += surrogate;
      if (kept) gradient[i] = -surrogate / tokens;
      else dropped++;
      ratios += p / q;
      squares += (p / q) ** 2;
    }
  return {
    loss: tokens === 0 ? 0 : -surrogates / tokens,
    gradient,
    trainableTokens: tokens,
    droppedTokens: dropped,
    effectiveSampleSize: squares === 0 ? 0 : ratios ** 2 / squares,
    meanRatio: tokens === 0 ? 1 : ratios / tokens,
  };
}

function surrogateOf(
  p: number,
  q: number,
  advantage: number,
  { kind, threshold, clipLow, clipHigh, ratioLow, ratioHigh }: LossSettings,
): { surrogate: number; kept: boolean } {
  const ratio = p / q;
  if (kind === "ratio-clip") {
    const clipped = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
    const surrogate = Math.min(advantage * ratio, advantage * clipped);
    return { surrogate, kept: surrogate === advantage * ratio };
  }
  const kept =
    kind === "two-sided"
      ? ratio > ratioLow && ratio < ratioHigh
      : advantage > 0
        ? p - q <= threshold
        : p - q >= -threshold;
  return { surrogate: kept ? advantage * ratio : 0, kept };
}

/** Name of the first field in which they differ by more than rounding, or null. */
export function differenceOf(a: LossResult, b: LossResult): string | null {
  const near = (x: number, y: number) => Math.abs(x - y) <= TOLERANCE * Math.max(1, Math.abs(x), Math.abs(y));
  const numbers = ["loss", "trainableTokens", "droppedTokens", "effectiveSampleSize", "meanRatio"] as const;
  const field = numbers.find((name) => !near(a[name], b[name]));
  if (field !== undefined) return field;
  // A gradient is of the size 1 / tokens: what counts is its error against that.
  const scale = Math.max(1, a.trainableTokens);
  return a.gradient.every((value, i) => near(scale * value, scale * b.gradient[i]!)) ? null : "gradient";
}

/**
 * Trajectories as an agent leaves them, half of it prompts and tool results, the policy a few updates from the one that sampled. One
 * advantage in each trajectory, of either sign.
 */
export function tokenBatch(seed: number, trajectories: number, length: number): TokenBatch {
  const stream = random(seed, "bench", "loss");
  const total = trajectories * length;
  const trainable = new Uint8Array(total);
  const rolloutLogProbs = new Float64Array(total);
  const trainLogProbs = new Float64Array(total);
  for (let i = 0; i < total; i++) {
    if (stream.next() < 0.5) continue;
    trainable[i] = 1;
    // Most tokens of an agent are nearly certain.
    rolloutLogProbs[i] = -6 * stream.next() ** 4;
    trainLogProbs[i] = Math.min(0, rolloutLogProbs[i]! + stream.next() - 0.5);
  }
  return {
    trainLogProbs,
    rolloutLogProbs,
    trainable,
    offsets: Int32Array.from({ length: trajectories + 1 }, (_, row) => row * length),
    advantages: Float64Array.from({ length: trajectories }, () => 4 * stream.next() - 2),
  };
}
