/** The pool of an iteration that is finished, as its climb had it. */
import { sql } from "kysely";
import type { PooledTask } from "../../core/pool.ts";
import { scopeKey } from "../../core/scope.ts";
import { StoreError } from "./errors.ts";
import type { Executor } from "./rows.ts";
import { latestTries } from "./summary.ts";

/**
 * In the order in which they were admitted; results of candidates that the pool did not read any more are none of it. Throws StoreError `missing`
 * where the iteration's latest try has no whole pool.
 */
export async function poolOf(db: Executor, experiment: string, iteration: number): Promise<PooledTask[]> {
  const row = (await latestTries(db, experiment)).find((one) => one.iteration === iteration);
  if (row === undefined || row.last_candidate === null)
    throw new StoreError("missing", `iteration ${iteration} of ${experiment} has no whole pool on record`);
  const { rows } = await sql<PooledTask>`
    with probed as (
      select distinct on (candidate) candidate, task_id, level, decision, coalesce(rate, passes::float8 / runs) as rate
      from probes where scope = ${scopeKey(row)} order by candidate, refinement desc
    ), admitted as (
      select candidate, task_id, level, rate from probed where decision = 'admit'
      union all
      select candidate, task_id, null, null from validations
      where scope = ${scopeKey(row)} and task_id is not null and not exists (select 1 from probed)
    ), first as (
      select distinct on (task_id) * from admitted where candidate <= ${row.last_candidate} order by task_id, candidate
    )
    select f.task_id as "taskId", e.name as environment, f.level, f.rate as "passRate"
    from first f join tasks t on t.id = f.task_id join environments e on e.key = t.environment
    order by f.candidate`.execute(db);
  return rows;
}
