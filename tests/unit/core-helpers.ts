/** Builds the loss kernel's arrays from one object per trajectory. */
import type { TokenBatch } from "../../core/loss.ts";

export interface TestTrajectory {
  readonly advantage: number;
  readonly trainable: readonly number[];
  /** log q */
  readonly rollout: readonly number[];
  /** log p */
  readonly train: readonly number[];
}

export function tokenBatch(rows: readonly TestTrajectory[]): TokenBatch {
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, i) => {
    offsets[i + 1] = offsets[i]! + row.trainable.length;
  });
  return {
    trainLogProbs: Float64Array.from(rows.flatMap((row) => row.train)),
    rolloutLogProbs: Float64Array.from(rows.flatMap((row) => row.rollout)),
    trainable: Uint8Array.from(rows.flatMap((row) => row.trainable)),
    offsets,
    advantages: Float64Array.from(rows, (row) => row.advantage),
  };
}
