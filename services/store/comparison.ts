/** What comparing experiments needs of each: its held-out results task by task, and what its pools and groups were like. */
import { sql } from "kysely";
import type { ComparedRun, MeasuredPolicy } from "../../core/comparison.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { scopeKey } from "../../core/scope.ts";
import type { TaskResult } from "../../core/statistics.ts";
import { getExperiment } from "./experiments.ts";
import type { Executor } from "./rows.ts";
import { type PassCounts, poolSeries, type TaskMix, taskMix } from "./series.ts";
import { currentTries } from "./summary.ts";

/** Sums over the current try of every iteration. */
export interface PoolStatistics {
  /** Candidates that were validated, and those of them that no gate rejected. */
  readonly candidates: number;
  readonly valid: number;
  readonly probed: number;
  /** Of those probed: in the admitted band at the first probe, and after the last one. */
  readonly learnableAtFirst: number;
  readonly learnableAtLast: number;
  readonly admitted: number;
  /** Admitted tasks by `<generator> <type>`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Mean words of the statements that tasks were admitted with; null without any. */
  readonly statementWords: number | null;
  /** Probes by passes, over iterations whose probes are of one size. */
  readonly firstProbe: PassCounts;
  readonly lastProbe: PassCounts;
  /** Groups that updates were offered, and those of them whose raw rewards were all equal. */
  readonly groups: number;
  readonly zeroVariance: number;
  readonly rollouts: { readonly probe: number; readonly climb: number };
}

export interface ComparedRecord {
  readonly run: ComparedRun;
  readonly statistics: PoolStatistics;
}

/** Throws StoreError `missing`. */
export async function comparedRecord(db: Executor, experiment: string): Promise<ComparedRecord> {
  const settings = (await getExperiment(db, experiment)).settings as ExperimentSettings;
  return {
    run: { experiment, measured: await measuredPolicies(db, experiment, settings) },
    statistics: await poolStatistics(db, experiment),
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

async function poolStatistics(db: Executor, experiment: string): Promise<PoolStatistics> {
  const scopes = (await currentTries(db, experiment)).map(scopeKey);
  const { rows } = await sql<
    Omit<PoolStatistics, "kinds" | "firstProbe" | "lastProbe" | "rollouts"> & { probe: number; climb: number }
  >`
    with scopes as (select unnest(${scopes}::text[]) as scope),
    probed as (select p.* from probes p join scopes using (scope)),
    firsts as (select * from probed where refinement = 0),
    lasts as (select distinct on (scope, candidate) * from probed order by scope, candidate, refinement desc),
    offered as (
      select g.zero_variance from batches b
      join scopes s on s.scope = b.experiment || '/it/' || b.iteration || '/try/' || b.try
      cross join lateral json_array_elements_text(b.groups) as key join groups g on g.key = key.value
    )
    select
      (select count(*)::int from validations join scopes using (scope)) as candidates,
      (select count(*)::int from validations join scopes using (scope) where task_id is not null) as valid,
      (select count(*)::int from firsts) as probed,
      (select count(*)::int from firsts where decision = 'admit') as "learnableAtFirst",
      (select count(*)::int from lasts where decision = 'admit') as "learnableAtLast",
      (select count(distinct (scope, task_id))::int from lasts where decision = 'admit') as admitted,
      (select avg(array_length(regexp_split_to_array(trim(s.text), '\\s+'), 1))::float8
        from lasts l join statements s on s.task_id = l.task_id and s.level = l.level where l.decision = 'admit') as "statementWords",
      (select count(*)::int from offered) as groups,
      (select count(*)::int from offered where zero_variance) as "zeroVariance",
      (select coalesce(sum(runs), 0)::int from probed) as probe,
      (select count(*)::int from rollouts r join groups g on g.key = r.group_key
        join scopes s on s.scope = g.experiment || '/it/' || g.iteration || '/try/' || g.try
        where g.phase = 'climb') as climb`.execute(db);
  const { probe, climb, ...counted } = rows[0]!;
  const [pools, mixes] = await Promise.all([poolSeries(db, experiment), taskMix(db, experiment)]);
  return {
    ...counted,
    kinds: kindsOf(mixes),
    firstProbe: together(pools.map(({ before }) => before)),
    lastProbe: together(pools.map(({ after }) => after)),
    rollouts: { probe, climb },
  };
}

function kindsOf(mixes: readonly TaskMix[]): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const mix of mixes)
    for (const [kind, count] of Object.entries(mix.kinds)) kinds[kind] = (kinds[kind] ?? 0) + count;
  return kinds;
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
