/** Advantages of a group's rollouts (docs/method.md §6). */

export type AdvantageEstimator = "group-std-population" | "group-std-sample" | "no-std" | "leave-one-out";

export interface AdvantageSettings {
  /** Paper: (R - mean) / (std + 1e-6); whether std is the population's or the sample's is undisclosed. */
  readonly estimator: AdvantageEstimator;
}

/** Paper: added to the standard deviation, so that nearly equal rewards do not blow up. */
const STD_EPSILON = 1e-6;

/**
 * One advantage per reward, in the same order. A group of one has nothing to be compared with: its advantage is 0.
 * `no-std`: Dr. GRPO, arXiv 2503.20783. `leave-one-out`: RLOO, arXiv 2402.14740.
 */
export function advantages(rewards: readonly number[], settings: AdvantageSettings): number[] {
  const n = rewards.length;
  if (n < 2) return rewards.map(() => 0);
  const sum = rewards.reduce((total, reward) => total + reward, 0);
  if (settings.estimator === "leave-one-out")
    return rewards.map((reward) => reward - (sum - reward) / (n - 1));
  const mean = sum / n;
  if (settings.estimator === "no-std") return rewards.map((reward) => reward - mean);
  const squares = rewards.reduce((total, reward) => total + (reward - mean) ** 2, 0);
  const std = Math.sqrt(squares / (settings.estimator === "group-std-sample" ? n - 1 : n));
  return rewards.map((reward) => (reward - mean) / (std + STD_EPSILON));
}

/**
 * Whether a group is trained on: some passed and some failed. Judged on raw rewards, never on shaped ones, so that a
 * group that solved everything is not trained merely to be shorter.
 */
export function keepGroup(raw: readonly (0 | 1)[]): boolean {
  return raw.some((reward) => reward !== raw[0]);
}
