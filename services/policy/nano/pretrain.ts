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

const REPAIRS = 700;
const REPAIR_FIT = { epochs: 10, learningRate: 0.05, decay: 1e-2 };
const HABIT_FIT = { epochs: 400, learningRate: 0.05, decay: 1e-4 };

/** [SLOTS] weights. The same sources and seed give the same bits. */
export function pretrain(request: PretrainRequest, repairs = REPAIRS, settings = REPAIR_FIT): Float64Array {
  const { sources, seed, log } = request;
  const weights = fit(drawRepairs(sources, repairs, seed), settings, seed, log);
  const habits = fit(drawHabits(), HABIT_FIT, seed);
  // The two share no feature but by chance of hashing.
  return weights.map((weight, slot) => weight + habits[slot]!);
}
