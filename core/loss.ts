/** Policy-gradient losses over a batch's tokens (paper §6). */

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
