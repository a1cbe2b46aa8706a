/** Start weights of the embedded policy: a few seconds of imitation, the analogue of a pretrained base model. */
import { fit } from "./fit.ts";
import { drawHabits } from "./habits.ts";
import { drawRepairs, type SourceText } from "./repairs.ts";

export interface PretrainRequest {
  /** Sources of packages that are used for nothing else. */
  readonly sources: readonly SourceText[];
  readonly seed: number;
  readonly log?: (line: string) => void;
}

const REPAIRS = 800;
/** The decay leaves the policy unsure: what is sharp cannot be sharpened, and what is sure is never corrected. */
const REPAIR_FIT = { epochs: 10, learningRate: 0.05, decay: 5e-3 };
/** What the decay made too flat is sharpened evenly: a start that solves a fifth to a third of its tasks has most to learn from. */
const SHARPNESS = 1.3;
const HABIT_FIT = { epochs: 200, learningRate: 0.05, decay: 1e-4 };

/** [SLOTS] weights. The same sources and seed give the same bits. */
export function pretrain(
  { sources, seed, log }: PretrainRequest,
  { repairs = REPAIRS, repairFit = REPAIR_FIT } = {},
): Float64Array {
  const weights = fit(sources.length === 0 ? [] : drawRepairs(sources, repairs, seed), repairFit, seed, log);
  const habits = fit(drawHabits(), HABIT_FIT, seed);
  // The two share no feature but by chance of hashing.
  return weights.map((weight, slot) => SHARPNESS * weight + habits[slot]!);
}
