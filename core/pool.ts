/** A task of a pool that is full, as a later climb may take it up. */
export interface PooledTask {
  readonly taskId: string;
  /** Name of its environment. */
  readonly environment: string;
  /** Level of the statement it was admitted with; null where nothing was probed. */
  readonly level: number | null;
  /** As the probe that admitted it estimates it; null where nothing was probed. */
  readonly passRate: number | null;
}
