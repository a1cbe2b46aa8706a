/** A snapshot of a running experiment, cheap enough to ask for twice a second: what `run` and `watch` show. */
import { sql } from "kysely";
import { scopeKey } from "../../core/scope.ts";
import { admittedIn } from "./admitted.ts";
import type { Db } from "./database.ts";
import { passCounts } from "./series.ts";
import { currentTries } from "./summary.ts";
import { ENDS, readTimeline } from "./timeline.ts";

export interface PoolProgress {
  readonly candidates: number;
  readonly rejected: number;
  readonly probes: number;
  readonly admitted: number;
  /** Probes by passes: `histogram[k]` = probes with k passes, over the latest probe of each candidate. */
  readonly histogram: readonly number[];
}

export interface Progress {
  readonly status: string;
  readonly error: string | null;
  readonly phase: string;
  readonly iteration: number;
  /** Seconds that it ran, by the database's clock. */
  readonly elapsedSeconds: number;
  readonly phaseSeconds: number;
  readonly pool: PoolProgress;
  readonly update: number;
  /** Mean shaped reward of the groups of the latest update; null before the first. */
  readonly meanReward: number | null;
  readonly rollouts: number;
  /** While it is prepared: valid tasks of fixed sets found since it was created. */
  readonly setTasks: number;
  /** Newest last. */
  readonly evaluations: readonly {
    readonly iteration: number;
    readonly set: string;
    readonly mode: string;
    readonly passAt1: number;
    readonly low: number;
    readonly high: number;
    readonly tasks: number;
  }[];
}

interface At {
  readonly iteration: number;
  /** Absent before the first iteration. */
  readonly try?: number;
  readonly phase: string;
}

/** Where a run is that goes on after its end: a phase that it enters again is no new event, but its iteration's row says it. */
async function takenUpAt(db: Db, name: string): Promise<At> {
  const row = (await currentTries(db, name)).at(-1);
  if (row === undefined || ENDS.has(row.status))
    return { iteration: row?.iteration ?? 0, phase: "taken up again" };
  return { iteration: row.iteration, try: row.try, phase: row.status };
}

/** Null when there is no experiment of that name. */
export async function readProgress(db: Db, name: string): Promise<Progress | null> {
  const experiment = await db
    .selectFrom("experiments")
    .select(["status", "result", "created_at"])
    .where("name", "=", name)
    .executeTakeFirst();
  if (experiment === undefined) return null;
  const phase = await db
    .selectFrom("events")
    .select(["detail", sql<number>`extract(epoch from now() - created_at)::float8`.as("seconds")])
    .where("experiment", "=", name)
    .where("kind", "=", "phase")
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  const recorded = (phase?.detail ?? { iteration: 0, phase: "queued" }) as At;
  const running = experiment.status === "running";
  const timeline = await readTimeline(db, name, running);
  const detail = running && ENDS.has(recorded.phase) ? await takenUpAt(db, name) : recorded;
  const at = { experiment: name, iteration: detail.iteration, try: detail.try ?? 1 };
  const scope = scopeKey(at);
  const validations = await db
    .selectFrom("validations")
    .select([
      sql<number>`count(*)::int`.as("candidates"),
      sql<number>`count(*) filter (where task_id is null)::int`.as("rejected"),
    ])
    .where("scope", "=", scope)
    .executeTakeFirstOrThrow();
  const probes = await db
    .selectFrom("probes")
    .select(["candidate", "refinement", "passes", "runs", "planned", "rate"])
    .where("scope", "=", scope)
    .orderBy("candidate")
    .orderBy("refinement")
    .execute();
  const latest = new Map(probes.map((probe) => [probe.candidate, probe]));
  const pool = await sql<{ admitted: number }>`
    select count(distinct task_id)::int as admitted from ${admittedIn(scope)} own`.execute(db);
  const { counts: histogram } = passCounts([...latest.values()]);
  const updates = await db
    .selectFrom("updates")
    .select(sql<number>`coalesce(max(update), 0)::int`.as("update"))
    .where("experiment", "=", name)
    .where("iteration", "=", at.iteration)
    .where("try", "=", at.try)
    .executeTakeFirstOrThrow();
  const { rows: rewards } = await sql<{ mean: number | null }>`
    select avg(mean_reward)::float8 as mean from groups where key in (
      select json_array_elements_text(groups) from (
        select groups from batches
        where experiment = ${name} and iteration = ${at.iteration} and try = ${at.try}
        order by update desc limit 1
      ) as latest
    )`.execute(db);
  const rollouts = await db
    .selectFrom("rollouts")
    .select(sql<number>`count(*)::int`.as("count"))
    .where("group_key", "like", `${name.replace(/[\\%_]/g, "\\$&")}/%`)
    .executeTakeFirstOrThrow();
  const setTasks = await db
    .selectFrom("validations")
    .select(sql<number>`count(*)::int`.as("count"))
    .where("scope", "like", "set/%")
    .where("task_id", "is not", null)
    .where("created_at", ">=", experiment.created_at)
    .executeTakeFirstOrThrow();
  const evaluations = await db
    .selectFrom("evaluations")
    .select(["iteration", "set_name", "mode", "pass_at_1", "low", "high", "tasks"])
    .where("experiment", "=", name)
    .orderBy("created_at")
    .execute();
  const result = experiment.result as { error?: string } | null;
  return {
    status: experiment.status,
    error: result?.error ?? null,
    phase: detail.phase,
    iteration: detail.iteration,
    elapsedSeconds: timeline.reduce((sum, { seconds }) => sum + seconds, 0),
    phaseSeconds: phase?.seconds ?? 0,
    pool: {
      candidates: validations.candidates,
      rejected: validations.rejected,
      probes: probes.length,
      admitted: pool.rows[0]!.admitted,
      histogram,
    },
    update: updates.update,
    meanReward: rewards[0]!.mean,
    rollouts: rollouts.count,
    setTasks: setTasks.count,
    evaluations: evaluations.map((row) => ({
      iteration: row.iteration,
      set: row.set_name,
      mode: row.mode,
      passAt1: row.pass_at_1,
      low: row.low,
      high: row.high,
      tasks: row.tasks,
    })),
  };
}
