/** The pools of an experiment: what became of their candidates, and what they hold. */
import { type Db, type PoolView, poolViews } from "../../services/store/index.ts";

export interface PoolsOf {
  readonly experiment: string;
  /** In order; of one iteration where it was asked for. */
  readonly pools: readonly PoolView[];
}

/** Throws StoreError `missing` for an unknown experiment or iteration. */
export async function showPools(
  { db }: { readonly db: Db },
  experiment: string,
  iteration?: number,
): Promise<PoolsOf> {
  return { experiment, pools: await poolViews(db, experiment, iteration) };
}
