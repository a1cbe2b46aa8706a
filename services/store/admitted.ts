/** The one rule of what a pool admitted, as SQL. */
import { type RawBuilder, sql } from "kysely";
import { scopeSql } from "./keys.ts";

/**
 * A subquery of what pools admitted so far, one row per candidate: (scope, candidate, task_id, level, rate). That is what the last probe admitted
 * or, where a pool probed nothing, every valid candidate, `level` and `rate` being null; none is beyond the last candidate that the pool
 * read. `within` says of a scope's column whether it is asked for; only tries on record have pools.
 */
export function admitted(within: (scope: RawBuilder<string>) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    with probed as (
      select distinct on (scope, candidate) scope, candidate, task_id, level, decision,
        coalesce(rate, passes::float8 / runs) as rate
      from probes where ${within(sql.ref("scope"))} order by scope, candidate, refinement desc
    )
    select a.* from (
      select scope, candidate, task_id, level, rate from probed where decision = 'admit'
      union all
      select scope, candidate, task_id, null, null from validations v
      where ${within(sql.ref("scope"))} and task_id is not null
        and not exists (select from probed p where p.scope = v.scope)
    ) a join iterations i on ${scopeSql("i")} = a.scope
    where a.candidate <= coalesce(i.last_candidate, a.candidate)
  )`;
}

/** Of a probe's column `decision` (`ProbeDecision`): whether the candidate was given up after it. */
export const isDropped = (decision: string): RawBuilder<boolean> =>
  sql`starts_with(${sql.ref(decision)}, 'drop: ')`;

/** Of one try alone. */
export const admittedIn = (scope: string): RawBuilder<unknown> => admitted((own) => sql`${own} = ${scope}`);
