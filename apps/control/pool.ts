/** The pools of an experiment: what became of their candidates, what they hold, and what an admitted task cost. */
import { POOL_PHASES, sumCosts, type UnitCost, unitCost } from "../../core/cost.ts";
import { type Db, type PoolView, poolViews, readCost } from "../../services/store/index.ts";

export interface PricedPool extends PoolView {
  /** Of making, refining and probing its candidates, in every try of the iteration; null where none is admitted, or none was made. */
  readonly perAdmitted: UnitCost | null;
}

export interface PoolsOf {
  readonly experiment: string;
  /** In order; of one iteration where it was asked for. */
  readonly pools: readonly PricedPool[];
}

/** Throws StoreError `missing` for an unknown experiment or iteration. */
export async function showPools(
  { db }: { readonly db: Db },
  experiment: string,
  iteration?: number,
): Promise<PoolsOf> {
  const pools = await poolViews(db, experiment, iteration);
  const { entries } = await readCost(db, experiment);
  const made = entries.filter(({ phase }) => POOL_PHASES.includes(phase));
  return {
    experiment,
    pools: pools.map((pool) => {
      const own = made.filter((entry) => entry.iteration === pool.iteration);
      return { ...pool, perAdmitted: pool.given ? null : unitCost(sumCosts(own), pool.admitted) };
    }),
  };
}
