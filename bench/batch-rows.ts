/** Rows of a batch as an iteration makes them, for measuring. */
import { random } from "../core/random.ts";
import type { BatchRow } from "../services/trainers/index.ts";

/** Rollouts of unequal length, a third of their tokens sampled; typed arrays, as the assembler hands them over. */
export function batchRows(seed: number, groups: number, size: number, tokens: number): BatchRow[] {
  const stream = random(seed, "bench", "batch");
  return Array.from({ length: groups * size }, (_, row) => {
    const length = 1 + stream.integer(2 * tokens - 1);
    const trainable = Uint8Array.from({ length }, () => (stream.next() < 1 / 3 ? 1 : 0));
    const group = `bench/it/1/try/1/climb/1/${Math.floor(row / size)}`;
    const raw = stream.integer(2) as 0 | 1;
    return {
      group,
      rollout: `${group}/${row % size}`,
      advantage: 2 * stream.next() - 1,
      reward: raw * stream.next(),
      raw,
      tokens: Int32Array.from({ length }, () => stream.integer(50_000)),
      trainable,
      logProbs: Float64Array.from({ length }, (_, i) => (trainable[i] === 1 ? -stream.next() : 0)),
    };
  });
}
