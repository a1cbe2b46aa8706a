/** What an experiment cost, and what for. */
import {
  type Cost,
  type CostGroup,
  type CostGrouping,
  groupCosts,
  POOL_PHASES,
  sumCosts,
  type UnitCost,
  unitCost,
} from "../../core/cost.ts";
import type { BudgetSettings } from "../../core/spend.ts";
import { type CostRecord, type Db, type GeneratorYield, readCost } from "../../services/store/index.ts";

export interface GeneratorCost extends GeneratorYield {
  /** Of making, refining and probing its candidates, by each of them that was admitted. */
  readonly perAdmitted: UnitCost | null;
}

export interface ExperimentCost {
  readonly experiment: string;
  readonly by: CostGrouping;
  readonly groups: readonly CostGroup[];
  readonly total: Cost;
  readonly budget: BudgetSettings;
  readonly perAdmitted: UnitCost | null;
  readonly perUpdate: UnitCost | null;
  readonly generators: readonly GeneratorCost[];
  readonly attempts: CostRecord["attempts"];
}

/** Throws StoreError `missing`. */
export async function showCost(
  { db }: { readonly db: Db },
  experiment: string,
  by: CostGrouping = "phase",
): Promise<ExperimentCost> {
  return costOf(experiment, by, await readCost(db, experiment));
}

export function costOf(experiment: string, by: CostGrouping, record: CostRecord): ExperimentCost {
  const { entries, yields, updates, attempts, settings } = record;
  const pool = entries.filter(({ phase }) => POOL_PHASES.includes(phase));
  const admitted = yields.reduce((sum, one) => sum + one.admitted, 0);
  const order = (a: CostGroup, b: CostGroup) =>
    by === "phase" ? 0 : String(a.of ?? "~").localeCompare(String(b.of ?? "~"), "en", { numeric: true });
  return {
    experiment,
    by,
    groups: groupCosts(entries, by).sort(order),
    total: sumCosts(entries),
    budget: settings.budget,
    perAdmitted: unitCost(sumCosts(pool), admitted),
    perUpdate: unitCost(sumCosts(entries.filter(({ phase }) => phase === "climb")), updates),
    generators: yields.map((one) => ({
      ...one,
      perAdmitted: unitCost(
        sumCosts(pool.filter(({ generator }) => generator === one.generator)),
        one.admitted,
      ),
    })),
    attempts,
  };
}
