/** What `list` and `show` say about experiments: counts and rates, no data. */
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { random } from "../../core/random.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import { meanPassRateInterval, type TaskResult } from "../../core/statistics.ts";
import { admittedIn, isDropped } from "./admitted.ts";
import { getExperiment, type IterationRow } from "./experiments.ts";
import { countPieces } from "./iteration-tries.ts";
import type { Executor } from "./rows.ts";
import { type PhaseTime, readTimeline } from "./timeline.ts";

export interface PolicySummary {
  readonly id: string;
  readonly sha256: string;
}

export interface EvaluationSummary {
  readonly set: string;
  /** `sampled`, `greedy`, `validation-…`, or a control's name. */
  readonly mode: string;
  readonly policy: string;
  readonly tasks: number;
  readonly samples: number;
  readonly passAt1: number;
  /** 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/** Held-out sets together, each task weighing the same. */
export type PooledEvaluation = Omit<EvaluationSummary, "set">;

export interface PoolSummary {
  readonly admitted: number;
  /** Left out by a gate, the filter, or as a duplicate. */
  readonly dropped: number;
  /** Candidates whose statement was written anew at least once. */
  readonly refined: number;
  /** Solvable with a hint only: climbed apart from those admitted. Absent = none, or the pool is still being filled. */
  readonly hinted?: number;
}

export interface IterationSummary {
  /** 0 = the untrained start. */
  readonly iteration: number;
  readonly try: number;
  readonly status: string;
  /** It began from what a replay of an earlier iteration has replaced: it waits to be run again. */
  readonly stale: boolean;
  readonly policy: PolicySummary | null;
  /** All held-out sets pooled, sampled. */
  readonly evaluation: PooledEvaluation | null;
  /** All held-out sets pooled, greedy decoding: a control. */
  readonly greedy: PooledEvaluation | null;
  /** Every evaluation of the iteration, of all its tries, by set and mode; `evaluationOf` finds the one that counts. */
  readonly evaluations: readonly EvaluationSummary[];
  readonly pool: PoolSummary | null;
  /** Of a finished replay: pieces that it took over from earlier tries, and that it made. */
  readonly pieces: { readonly reused: number; readonly made: number } | null;
}

export interface ExperimentSummary {
  readonly name: string;
  readonly seed: number;
  readonly status: string;
  readonly error: string | null;
  readonly createdAt: string;
  /** The last policy chosen; null before the start policy is measured. */
  readonly policy: PolicySummary | null;
  readonly iterations: readonly IterationSummary[];
  /** Accepted rollouts of every try; one that a replay took over counts once. */
  readonly rollouts: number;
  readonly timings: { readonly seconds: number; readonly phases: readonly PhaseTime[] };
}

export interface ExperimentListItem {
  readonly name: string;
  readonly seed: number;
  readonly status: string;
  readonly createdAt: string;
  readonly iterations: number;
}

/**
 * The evaluation of a set by the policy that the iteration's latest try ended with; earlier tries and checkpoints that were not chosen
 * are others.
 */
export function evaluationOf(
  { policy, evaluations }: IterationSummary,
  set: string,
  mode: string,
): EvaluationSummary | undefined {
  return evaluations.find(
    (evaluation) => evaluation.set === set && evaluation.mode === mode && evaluation.policy === policy?.id,
  );
}

/** Newest first. */
export async function listExperiments(db: Executor): Promise<ExperimentListItem[]> {
  const { rows } = await sql<Omit<ExperimentListItem, "createdAt"> & { created_at: Date }>`
    select name, seed, status, created_at,
      (select count(distinct iteration) from iterations i where i.experiment = e.name) as iterations
    from experiments e order by created_at desc, name`.execute(db);
  return rows.map(({ created_at, ...row }) => ({ ...row, createdAt: created_at.toISOString() }));
}

/** The latest try of each iteration, in order. */
export async function latestTries(db: Executor, experiment: string): Promise<IterationRow[]> {
  return db
    .selectFrom("iterations")
    .selectAll()
    .distinctOn("iteration")
    .where("experiment", "=", experiment)
    .orderBy("iteration")
    .orderBy("try", "desc")
    .execute();
}

/** The latest try of each iteration, but for those that a replay of an earlier one made stale. */
export async function currentTries(db: Executor, experiment: string): Promise<IterationRow[]> {
  return (await latestTries(db, experiment)).filter(({ stale }) => !stale);
}

/** A pool as its probes and validations tell it, while its iteration has not closed it. */
async function openPool(db: Executor, scope: string): Promise<PoolSummary> {
  const { rows } = await sql<PoolSummary>`
    with last as (
      select distinct on (candidate) candidate, refinement, decision from probes
      where scope = ${scope} order by candidate, refinement desc
    )
    select
      (select count(distinct task_id) from ${admittedIn(scope)} own) as admitted,
      (select count(*) from last where ${isDropped("decision")})
        + (select count(*) from validations where scope = ${scope} and task_id is null) as dropped,
      (select count(*) from last where refinement > 0) as refined`.execute(db);
  return rows[0]!;
}

type EvaluationRow = EvaluationSummary & {
  readonly iteration: number;
  readonly results: readonly TaskResult[];
};

async function evaluationsOf(db: Executor, experiment: string): Promise<EvaluationRow[]> {
  const rows = await db
    .selectFrom("evaluations")
    .select([
      "iteration",
      "set_name",
      "mode",
      "policy",
      "tasks",
      "samples",
      "pass_at_1",
      "low",
      "high",
      "results",
    ])
    // Tries that ended with the same policy measured it again.
    .distinctOn(["iteration", "set_name", "mode", "policy"])
    .where("experiment", "=", experiment)
    .orderBy("iteration")
    .orderBy("set_name")
    .orderBy("mode", "desc")
    .orderBy("policy")
    .orderBy("created_at", "desc")
    .execute();
  return rows.map(({ set_name, pass_at_1, results, ...row }) => ({
    ...row,
    set: set_name,
    passAt1: pass_at_1,
    results: results as TaskResult[],
  }));
}

async function policySummary(db: Executor, id: string | null | undefined): Promise<PolicySummary | null> {
  if (!id) return null;
  const row = await db.selectFrom("policies").select("sha256").where("id", "=", id).executeTakeFirst();
  return row ? { id, sha256: row.sha256 } : null;
}

function pooled(
  rows: readonly EvaluationRow[],
  settings: ExperimentSettings,
  mode: "sampled" | "greedy",
): PooledEvaluation | null {
  const sets = Object.keys(settings.evaluation.sets);
  const own = rows.filter((row) => row.mode === mode && sets.includes(row.set));
  const [first] = own;
  // A part of the sets would be another number than the rest of its column.
  if (first === undefined || own.length < sets.length) return null;
  const results = own.flatMap((row) => row.results);
  const interval = meanPassRateInterval(results, random(settings.evaluation.seed, "interval", "pooled"));
  return {
    mode,
    policy: first.policy,
    tasks: results.length,
    samples: first.samples,
    passAt1: interval.mean,
    low: interval.low,
    high: interval.high,
  };
}

async function pieceTotals(db: Executor, scope: Scope): Promise<{ reused: number; made: number }> {
  const all = Object.values(await countPieces(db, scope));
  const sum = (of: "reused" | "made") => all.reduce((total, counts) => total + counts[of], 0);
  return { reused: sum("reused"), made: sum("made") };
}

/** Throws StoreError `missing`. */
export async function showExperiment(db: Executor, name: string): Promise<ExperimentSummary> {
  const experiment = await getExperiment(db, name);
  const settings = experiment.settings as ExperimentSettings;
  const [tries, evaluations, phases, counted] = await Promise.all([
    latestTries(db, name),
    evaluationsOf(db, name),
    readTimeline(db, name, experiment.status === "running"),
    sql<{ rollouts: number }>`
      select count(*) as rollouts from rollouts
      where starts_with(key, ${`${name}/`}) and reused_from is null`.execute(db),
  ]);
  const numbers = [...new Set([...tries, ...evaluations].map((row) => row.iteration))].sort((a, b) => a - b);
  const iterations: IterationSummary[] = [];
  for (const iteration of numbers) {
    const row = tries.find((candidate) => candidate.iteration === iteration);
    const rows = evaluations.filter((evaluation) => evaluation.iteration === iteration);
    const own = rows.map(({ iteration: _, results: __, ...evaluation }) => evaluation);
    // What its latest try ended with; of iteration 0, what the first one began with.
    const end = row ? row.end_policy : (tries[0]?.start_policy ?? own[0]?.policy);
    const measured = rows.filter(({ policy }) => policy === end);
    const evaluation = pooled(measured, settings, "sampled");
    iterations.push({
      iteration,
      try: row?.try ?? 1,
      status: row?.status ?? "finished",
      stale: row?.stale ?? false,
      policy: await policySummary(db, end),
      evaluation,
      greedy: pooled(measured, settings, "greedy"),
      evaluations: own,
      pieces: row && row.try > 1 && row.status === "finished" ? await pieceTotals(db, row) : null,
      pool: row ? ((row.pool as PoolSummary | null) ?? (await openPool(db, scopeKey(row)))) : null,
    });
  }
  const result = experiment.result as { policy?: { id: string }; error?: string } | null;
  const chosen = iterations.findLast(({ policy, stale }) => policy !== null && !stale)?.policy ?? null;
  return {
    name,
    seed: experiment.seed,
    status: experiment.status,
    // What an earlier run ended by is no error of the one that runs now.
    error: experiment.status === "running" ? null : (result?.error ?? null),
    createdAt: experiment.created_at.toISOString(),
    policy: (await policySummary(db, result?.policy?.id)) ?? chosen,
    iterations,
    rollouts: counted.rows[0]!.rollouts,
    timings: { seconds: phases.reduce((sum, phase) => sum + phase.seconds, 0), phases },
  };
}
