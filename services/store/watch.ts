/** What the watchdogs of a running experiment ask the record. */
import { sql } from "kysely";
import { RETRY_SPENDING } from "../../core/failures.ts";
import type { Executor } from "./rows.ts";

/**
 * The last failure's text when the last `count` attempts that ended in this epoch all failed by infrastructure of their own; null
 * otherwise. Deaths of workers leave no such attempt.
 */
export async function recentInfrastructureFailures(
  db: Executor,
  experiment: string,
  count: number,
): Promise<string | null> {
  const rows = await db
    .selectFrom("attempts")
    .innerJoin("experiments", "experiments.name", "attempts.experiment")
    .select(["attempts.status", "attempts.kind", "attempts.error"])
    .where("attempts.experiment", "=", experiment)
    .whereRef("attempts.epoch", "=", "experiments.epoch")
    .where("attempts.status", "in", ["accepted", "failed"])
    .orderBy("attempts.updated_at", "desc")
    .limit(count)
    .execute();
  const all = rows.length === count && rows.every(isInfrastructure);
  return all ? (rows[0]?.error ?? "") : null;
}

function isInfrastructure(row: { readonly status: string; readonly kind: string | null }): boolean {
  return row.status === "failed" && RETRY_SPENDING.some((type) => type === row.kind);
}

/** True when the last `count` updates were all offered groups without variance only. An epoch forgives those before it. */
export async function recentCollapse(db: Executor, experiment: string, count: number): Promise<boolean> {
  const rows = await db
    .selectFrom("batches")
    .select(["artifact", "created_at"])
    .where("experiment", "=", experiment)
    .orderBy("created_at", "desc")
    .limit(count)
    .execute();
  if (rows.length < count || rows.some(({ artifact }) => artifact !== null)) return false;
  const resumed = await db
    .selectFrom("events")
    .select("created_at")
    .where("experiment", "=", experiment)
    .where("kind", "=", "resume")
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return resumed === undefined || rows.every(({ created_at }) => created_at > resumed.created_at);
}

/** Changes whenever anything of the experiment's work is recorded; task sets are no one's, so that anyone's counts. */
export async function readProgressMark(db: Executor, experiment: string): Promise<string> {
  const own = `${experiment.replace(/[\\%_]/g, "\\$&")}/%`;
  const { rows } = await sql<{ mark: string }>`
    select concat_ws(' ',
      (select max(updated_at) from attempts where experiment = ${experiment}),
      (select count(*) from attempts where experiment = ${experiment}),
      (select count(*) from ledger where rollout_key like ${own}),
      (select max(created_at) from events where experiment = ${experiment}),
      (select count(*) from updates where experiment = ${experiment}),
      (select count(*) from validations where scope like ${own} or scope like 'set/%')) as mark`.execute(db);
  return rows[0]!.mark;
}
