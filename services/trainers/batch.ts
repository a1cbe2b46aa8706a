/**
 * Training batches as Arrow IPC files: one row per segment. Immutable, named by their content.
 * Columns: group (utf8), rollout (utf8), advantage (float64), reward (float64), raw (uint8), tokens (list<int32>), trainable (list<uint8>),
 * logprobs (list<float64>). Groups whose raw rewards are all equal are not in it.
 */
export interface BatchRow {
  readonly group: string;
  readonly rollout: string;
  /** Advantage of every trainable token of the row. */
  readonly advantage: number;
  readonly reward: number;
  readonly raw: 0 | 1;
  readonly tokens: readonly number[] | Int32Array;
  readonly trainable: readonly (0 | 1)[] | Uint8Array;
  /** log q, nats, at sampling time. */
  readonly logProbs: readonly number[] | Float64Array;
}
