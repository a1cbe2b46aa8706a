/** Rewards of a rollout (paper §5). */

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
