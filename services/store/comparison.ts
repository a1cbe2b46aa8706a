/** What comparing experiments needs of each: its held-out results task by task, and what its pools and groups were like. */
import type { ComparedRun, MeasuredPolicy } from "../../core/comparison.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { TaskResult } from "../../core/statistics.ts";
import { getExperiment } from "./experiments.ts";
import { type PoolView, poolViews } from "./pool-view.ts";
import type { Executor } from "./rows.ts";
import type { PassCounts } from "./series.ts";
import { currentTries } from "./summary.ts";

/** Sums over the current try of every iteration; as `PoolView` otherwise. */
export interface PoolStatistics
  extends Pick<
    PoolView,
    | "candidates"
    | "valid"
    | "probed"
    | "learnableAtFirst"
    | "learnableAtLast"
    | "admitted"
    | "hinted"
    | "types"
    | "kinds"
    | "statementWords"
    | "groups"
    | "zeroVariance"
    | "updates"
    | "rollouts"
  > {
  /** Over all iterations but the first. */
  readonly churn: PoolView["churn"];
  /** Probes by passes, over iterations whose probes are of one size. */
  readonly firstProbe: PassCounts;
  readonly lastProbe: PassCounts;
  /** Rollouts up to the end of each iteration, probes and hints among them. */
  readonly spent: readonly { readonly iteration: number; readonly rollouts: number }[];
}

export interface ComparedRecord {
  /** Of the experiment: what is not done is compared as far as it is. */
  readonly status: string;
  readonly run: ComparedRun;
  readonly statistics: PoolStatistics;
}

/** Throws StoreError `missing`. */
export async function comparedRecord(db: Executor, experiment: string): Promise<ComparedRecord> {
  const { status, settings: recorded } = await getExperiment(db, experiment);
  const settings = recorded as ExperimentSettings;
  return {
    status,
    run: { experiment, measured: await measuredPolicies(db, experiment, settings) },
    statistics: summed(await poolViews(db, experiment)),
  };
}

/** Sampled results of the policy that each iteration's current try ended with, where all held-out sets were measured. */
async function measuredPolicies(
  db: Executor,
  experiment: string,
  settings: ExperimentSettings,
): Promise<MeasuredPolicy[]> {
  const sets = Object.keys(settings.evaluation.sets);
  const tries = await currentTries(db, experiment);
  const rows = await db
    .selectFrom("evaluations")
    .select(["iteration", "set_name", "policy", "results"])
    .distinctOn(["iteration", "set_name", "policy"])
    .where("experiment", "=", experiment)
    .where("mode", "=", "sampled")
    .where("set_name", "in", sets)
    .orderBy("iteration")
    .orderBy("set_name")
    .orderBy("policy")
    .orderBy("created_at", "desc")
    .execute();
  const ends = new Map(tries.map((row) => [row.iteration, row.end_policy]));
  const start = tries[0]?.start_policy;
  const iterations = [...new Set(rows.map(({ iteration }) => iteration))];
  return iterations.flatMap((iteration) => {
    const policy = iteration === 0 ? (start ?? rows[0]!.policy) : ends.get(iteration);
    const own = rows.filter((row) => row.iteration === iteration && row.policy === policy);
    if (own.length < sets.length) return [];
    const results = own.flatMap(({ set_name, results: found }) =>
      (found as (TaskResult & { readonly taskId: string })[]).map(
        ({ taskId, passes, runs }) => [`${set_name}/${taskId}`, { passes, runs }] as const,
      ),
    );
    return [{ iteration, results: new Map(results) }];
  });
}

function summed(pools: readonly PoolView[]): PoolStatistics {
  const sum = (of: (pool: PoolView) => number): number => pools.reduce((total, pool) => total + of(pool), 0);
  const counts = (of: "types" | "kinds") => addUp(pools.map((pool) => pool[of]));
  const worded = pools.filter(({ statementWords }) => statementWords !== null);
  const churned = pools.flatMap(({ churn }) => churn ?? []);
  const churn = (of: "functions" | "files") => ({
    new: churned.reduce((total, one) => total + one[of].new, 0),
    of: churned.reduce((total, one) => total + one[of].of, 0),
  });
  return {
    candidates: sum(({ candidates }) => candidates),
    valid: sum(({ valid }) => valid),
    probed: sum(({ probed }) => probed),
    learnableAtFirst: sum(({ learnableAtFirst }) => learnableAtFirst),
    learnableAtLast: sum(({ learnableAtLast }) => learnableAtLast),
    admitted: sum(({ admitted }) => admitted),
    hinted: sum(({ hinted }) => hinted),
    types: counts("types"),
    kinds: counts("kinds"),
    statementWords:
      worded.length === 0
        ? null
        : worded.reduce((total, pool) => total + pool.statementWords! * pool.admitted, 0) /
          worded.reduce((total, pool) => total + pool.admitted, 0),
    churn: churned.length === 0 ? null : { functions: churn("functions"), files: churn("files") },
    groups: sum(({ groups }) => groups),
    zeroVariance: sum(({ zeroVariance }) => zeroVariance),
    updates: sum(({ updates }) => updates),
    rollouts: {
      probe: sum(({ rollouts }) => rollouts.probe),
      hints: sum(({ rollouts }) => rollouts.hints),
      climb: sum(({ rollouts }) => rollouts.climb),
    },
    firstProbe: together(pools.map(({ firstProbe }) => firstProbe)),
    lastProbe: together(pools.map(({ lastProbe }) => lastProbe)),
    spent: pools.map(({ iteration }, index) => ({
      iteration,
      rollouts: pools
        .slice(0, index + 1)
        .reduce((total, { rollouts }) => total + rollouts.probe + rollouts.hints + rollouts.climb, 0),
    })),
  };
}

function addUp(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const one of all)
    for (const [name, count] of Object.entries(one)) total[name] = (total[name] ?? 0) + count;
  return total;
}

/** Histograms of the largest size, added up. */
function together(histograms: readonly PassCounts[]): PassCounts {
  const runs = histograms.reduce((most, one) => Math.max(most, one.runs), 0);
  const whole = histograms.filter((one) => one.runs === runs);
  const counts = Array.from({ length: runs + 1 }, (_, k) =>
    whole.reduce((sum, one) => sum + (one.counts[k] ?? 0), 0),
  );
  return { runs, counts };
}
