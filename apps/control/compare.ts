/** Experiments side by side: arms of one or several each, what their policies solve, and what their pools were like. */
import { type ArmResult, type ComparedArm, compareArms } from "../../core/comparison.ts";
import { comparedRecord, type Db, type PoolStatistics } from "../../services/store/index.ts";

export interface ArmNames {
  readonly name: string;
  readonly experiments: readonly string[];
}

export interface ComparedPool extends PoolStatistics {
  readonly experiment: string;
}

export interface Comparison {
  /** The first one is what the others are compared with. */
  readonly arms: readonly (ArmResult & { readonly pools: readonly ComparedPool[] })[];
  /** Climb rollouts of the arms differ by more than a percent: the comparison is not of equal budgets. */
  readonly unequalBudgets: boolean;
}

const BUDGET_TOLERANCE = 0.01;

/** Throws StoreError `missing`, ComparisonError. */
export async function compareExperiments(
  { db }: { readonly db: Db },
  named: readonly ArmNames[],
): Promise<Comparison> {
  const arms: (ComparedArm & { readonly pools: readonly ComparedPool[] })[] = [];
  for (const { name, experiments } of named) {
    const records = await Promise.all(experiments.map((experiment) => comparedRecord(db, experiment)));
    arms.push({
      name,
      runs: records.map(({ run }) => run),
      pools: records.map(({ run, statistics }) => ({ experiment: run.experiment, ...statistics })),
    });
  }
  const budgets = arms.map(({ pools }) => mean(pools.map(({ rollouts }) => rollouts.climb)));
  return {
    arms: compareArms(arms).map((result, index) => ({ ...result, pools: arms[index]!.pools })),
    unequalBudgets: Math.max(...budgets) > (1 + BUDGET_TOLERANCE) * Math.min(...budgets),
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
