/** Rewards of a rollout (docs/method.md §5). */

export interface RewardSettings {
  /** Factor on a success that a limit cut short. Paper: 0.5. */
  readonly truncationFactor: number;
  readonly length: {
    /** First iteration (1-based) in which the length factor applies; null = never. Paper: 3. */
    readonly fromIteration: number | null;
    /** N_free, in generated tokens. Undisclosed. */
    readonly freeTokens: number;
    /** α. Undisclosed. */
    readonly alpha: number;
    /** Lower bound of the factor. Undisclosed. */
    readonly floor: number;
  };
}

/** What a reward is computed from. Infrastructure failures never get here: they are no sample. */
export interface RewardedRollout {
  /** 1 if every fail-to-pass and pass-to-pass test passed on the final tree. */
  readonly raw: 0 | 1;
  /** True where a limit, not the agent, ended the run. */
  readonly truncated: boolean;
  /** n: tokens sampled by the policy over all turns. */
  readonly generatedTokens: number;
  /** 1-based. */
  readonly iteration: number;
}

/** 1 up to `freeTokens`, then 1 − α ln(n / freeTokens), never below `floor`. */
function lengthFactor(generatedTokens: number, settings: RewardSettings["length"]): number {
  if (generatedTokens <= settings.freeTokens) return 1;
  return Math.max(settings.floor, 1 - settings.alpha * Math.log(generatedTokens / settings.freeTokens));
}

/** raw × truncation factor × length factor, in [0, 1]. A failure is 0 whatever its length. */
export function shapedReward(rollout: RewardedRollout, settings: RewardSettings): number {
  if (rollout.raw === 0) return 0;
  const truncation = rollout.truncated ? settings.truncationFactor : 1;
  const from = settings.length.fromIteration;
  const counted = from !== null && rollout.iteration >= from;
  return truncation * (counted ? lengthFactor(rollout.generatedTokens, settings.length) : 1);
}
