/** Advantages of a group's rollouts (paper §6). */

export type AdvantageEstimator = "group-std-population" | "group-std-sample" | "no-std" | "leave-one-out";

export interface AdvantageSettings {
  /** Paper: (R - mean) / (std + 1e-6); whether std is the population's or the sample's is undisclosed. */
  readonly estimator: AdvantageEstimator;
}
