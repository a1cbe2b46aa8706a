/** Experiments side by side: arms of one or several each, what their policies solve, and what their pools were like. */
import { type ArmResult, type ComparedArm, type CurvePoint, compareArms } from "../../core/comparison.ts";
import { comparedRecord, type Db, type PoolStatistics } from "../../services/store/index.ts";

export interface ArmNames {
  readonly name: string;
  readonly experiments: readonly string[];
}

export interface ComparedPool extends PoolStatistics {
  readonly experiment: string;
  /** Of the experiment: one that is not done is compared as far as it is. */
  readonly status: string;
}

/** A point of a learning curve with what it took to get there. */
export interface ComparedPoint extends CurvePoint {
  /** Mean of the arm's experiments, probes among them, up to the end of the iteration. */
  readonly rollouts: number;
}

export interface ComparedArmResult extends Omit<ArmResult, "curve"> {
  readonly curve: readonly ComparedPoint[];
  readonly pools: readonly ComparedPool[];
}

export interface Comparison {
  /** The first one is what the others are compared with. */
  readonly arms: readonly ComparedArmResult[];
  /** Rollouts of the arms, probes among them, differ by more than a twentieth: the comparison is not of equal budgets. */
  readonly unequalBudgets: boolean;
}

/** Equal budgets end with the last update that fits: what is left over differs. */
const BUDGET_TOLERANCE = 0.05;

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
      pools: records.map(({ run, status, statistics }) => ({
        experiment: run.experiment,
        status,
        ...statistics,
      })),
    });
  }
  const budgets = arms.map(({ pools }) => spentUpTo(pools, Number.POSITIVE_INFINITY));
  return {
    arms: compareArms(arms).map((result, index) => {
      const { pools } = arms[index]!;
      const curve = result.curve.map((point) => ({ ...point, rollouts: spentUpTo(pools, point.iteration) }));
      return { ...result, curve, pools };
    }),
    unequalBudgets: Math.max(...budgets) > (1 + BUDGET_TOLERANCE) * Math.min(...budgets),
  };
}

/** Experiments whose numbers are not their last, one line each. */
export function unfinished({ arms }: Comparison): string[] {
  return arms.flatMap(({ name, pools }) =>
    pools.flatMap(({ experiment, status }) =>
      status === "done"
        ? []
        : [
            `${experiment}${experiment === name ? "" : ` of ${name}`} is ${status}: it is compared as far as it is`,
          ],
    ),
  );
}

/** Rollouts up to the end of an iteration, mean of the experiments. */
function spentUpTo(pools: readonly ComparedPool[], iteration: number): number {
  const spent = pools.map((pool) => pool.spent.findLast((one) => one.iteration <= iteration)?.rollouts ?? 0);
  return spent.reduce((sum, value) => sum + value, 0) / spent.length;
}
