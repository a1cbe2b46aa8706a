/** Filter by learnability: which counts of passes are admitted (paper §3). */

/** Admitted when low <= passes / runs <= high, compared on counts. Paper: 0.5 .. 0.5 (iterations 1-4). */
export interface LearnabilityBand {
  readonly low: number;
  readonly high: number;
}
