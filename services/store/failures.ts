/** Failed rollouts with what they failed by: for the author of later iterations. Nothing that reaches the policy reads them. */
import { sql } from "kysely";
import type { FailureNote } from "../synthesis/types.ts";
import { type Executor, type Row, upsert } from "./rows.ts";

/** Replaces what the iteration had: of a replay, the tries before are no longer what happened. */
export async function recordFailures(
  db: Executor,
  { experiment, iteration }: { readonly experiment: string; readonly iteration: number },
  failures: readonly Omit<Row<"failures">, "experiment" | "iteration">[],
): Promise<void> {
  await db
    .deleteFrom("failures")
    .where("experiment", "=", experiment)
    .where("iteration", "=", iteration)
    .execute();
  for (const failure of failures)
    await upsert(db, "failures", { ...failure, experiment, iteration }, ["rollout_key"]);
}

/**
 * Of iterations before this one, the latest first, then by the rollout's place in its iteration: the same for every run of the same seed, whatever
 * its name.
 */
export async function recentFailures(
  db: Executor,
  experiment: string,
  beforeIteration: number,
  limit: number,
): Promise<readonly FailureNote[]> {
  const { rows } = await sql<FailureNote>`
    select t.type, e.name as environment, s.text as statement, f.cause as diagnosis, f.evidence
    from failures f
    join rollouts r on r.key = f.rollout_key
    join tasks t on t.id = f.task_id
    join environments e on e.key = t.environment
    join statements s on s.task_id = r.task_id and s.level = r.level
    where f.experiment = ${experiment} and f.iteration < ${beforeIteration}
    order by f.iteration desc, f.rollout_key collate "C"
    limit ${limit}`.execute(db);
  return rows;
}
