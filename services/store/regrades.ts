/** Verdicts that were looked at again: which rollouts have one, and what a later grading of the same change found beside it. */
import { type Selectable, sql } from "kysely";
import type { Evidence, Outcome, VerdictRule } from "../../core/task.ts";
import type { Db } from "./database.ts";
import { StoreError } from "./errors.ts";
import { type Executor, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";

export type RegradeRow = Selectable<Database["regrades"]>;

export interface GradedRow {
  readonly key: string;
  readonly iteration: number;
  readonly taskId: string;
  readonly outcome: Outcome;
  readonly rule: VerdictRule;
}

/** Rollouts of the experiment that have a verdict, in the order of their keys; evaluations between iterations have iteration 0. */
export async function listGraded(
  db: Executor,
  experiment: string,
  iteration: number | null,
): Promise<readonly GradedRow[]> {
  let query = db
    .selectFrom("rollouts")
    .innerJoin("groups", "groups.key", "rollouts.group_key")
    .select(["rollouts.key", "groups.iteration", "rollouts.task_id", "rollouts.outcome", "rollouts.rule"])
    .where("groups.experiment", "=", experiment)
    .where("rollouts.raw_reward", "is not", null)
    .orderBy("rollouts.key");
  if (iteration !== null) query = query.where("groups.iteration", "=", iteration);
  const rows = await query.execute();
  return rows.map((row) => ({
    key: row.key,
    iteration: row.iteration,
    taskId: row.task_id,
    outcome: row.outcome as Outcome,
    rule: row.rule as VerdictRule,
  }));
}

/** Runs `work` while no other process does for that experiment: each regrade has a number of its own. Throws StoreError `conflict`. */
export async function alone<T>(db: Db, experiment: string, work: () => Promise<T>): Promise<T> {
  return db.connection().execute(async (session) => {
    const key = sql`hashtextextended(${`regrade ${experiment}`}, 0)`;
    const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_lock(${key}) as free`.execute(
      session,
    );
    if (!rows[0]!.free)
      throw new StoreError("conflict", `experiment ${experiment} is being graded again at this moment`);
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${key})`.execute(session);
    }
  });
}

export interface RegradeScope {
  readonly experiment: string;
  /** null = all, evaluations included. */
  readonly iteration: number | null;
  readonly codeVersion: string;
  /** Verdicts that it looks at. */
  readonly total: number;
}

/**
 * The number of the regrade that is to be worked on, from 1 for an experiment's first: the last one where it was cut half way with the same
 * iteration and the same code, else a new one. To be called `alone`.
 */
export async function openRegrade(
  db: Executor,
  { experiment, iteration, codeVersion, total }: RegradeScope,
): Promise<number> {
  const last = await db
    .selectFrom("regrade_runs")
    .selectAll()
    .where("experiment", "=", experiment)
    .orderBy("regrade", "desc")
    .limit(1)
    .executeTakeFirst();
  const isCut = last?.ended_at === null && last.iteration === iteration && last.code_version === codeVersion;
  const regrade = isCut ? last.regrade : (last?.regrade ?? 0) + 1;
  const row = { experiment, regrade, iteration, code_version: codeVersion, total };
  await upsert(db, "regrade_runs", row, ["experiment", "regrade"]);
  return regrade;
}

/** Every verdict was looked at. */
export async function endRegrade(db: Executor, experiment: string, regrade: number): Promise<void> {
  await db
    .updateTable("regrade_runs")
    .set({ ended_at: new Date() })
    .where("experiment", "=", experiment)
    .where("regrade", "=", regrade)
    .execute();
}

export interface RegradeRun {
  readonly regrade: number;
  readonly iteration: number | null;
  readonly begun: Date;
  /** False = it was cut half way, or is at it. */
  readonly isComplete: boolean;
  /** null = it was not noted. */
  readonly total: number | null;
  /** Verdicts it reached. */
  readonly graded: number;
}

/** The regrades of an experiment, the first one first. */
export async function listRegradeRuns(db: Executor, experiment: string): Promise<readonly RegradeRun[]> {
  const rows = await db
    .selectFrom("regrade_runs as run")
    .leftJoin("regrades as verdict", (join) =>
      join.onRef("verdict.experiment", "=", "run.experiment").onRef("verdict.regrade", "=", "run.regrade"),
    )
    .select((select) => select.fn.count<number>("verdict.rollout_key").as("graded"))
    .select(["run.regrade", "run.iteration", "run.begun_at", "run.ended_at", "run.total"])
    .where("run.experiment", "=", experiment)
    .groupBy(["run.experiment", "run.regrade"])
    .orderBy("run.regrade")
    .execute();
  return rows.map(({ regrade, iteration, begun_at, ended_at, total, graded }) => ({
    ...{ regrade, iteration, total, graded },
    begun: begun_at,
    isComplete: ended_at !== null,
  }));
}

export interface Regraded {
  readonly experiment: string;
  /** Which regrade of the experiment, from 1. */
  readonly regrade: number;
  readonly was: GradedRow;
  readonly now: {
    readonly outcome: Outcome;
    readonly rule: VerdictRule;
    readonly offending: readonly string[];
    readonly evidence: Evidence;
  };
}

/** The rollout's own verdict and its reward stay what they are: a policy was trained on them. */
export async function recordRegrade(
  db: Executor,
  { experiment, regrade, was, now }: Regraded,
): Promise<void> {
  const row = {
    experiment,
    regrade,
    rollout_key: was.key,
    old_outcome: was.outcome,
    old_rule: was.rule,
    outcome: now.outcome,
    rule: now.rule,
    offending: [...now.offending],
    evidence: now.evidence,
  };
  await upsert(db, "regrades", row, ["experiment", "regrade", "rollout_key"]);
}

/** What a regrade found, in the order of the rollouts' keys. */
export async function listRegrades(db: Executor, experiment: string, regrade: number): Promise<RegradeRow[]> {
  return db
    .selectFrom("regrades")
    .selectAll()
    .where("experiment", "=", experiment)
    .where("regrade", "=", regrade)
    .orderBy("rollout_key")
    .execute();
}
