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

/** 1 for the first regrade of an experiment. */
export async function nextRegrade(db: Executor, experiment: string): Promise<number> {
  const row = await db
    .selectFrom("regrades")
    .select((select) => select.fn.max("regrade").as("last"))
    .where("experiment", "=", experiment)
    .executeTakeFirst();
  return (row?.last ?? 0) + 1;
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
