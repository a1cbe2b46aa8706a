/** Failed rollouts with what they failed by: for the author of later iterations. Nothing that reaches the policy reads them. */
import { sql } from "kysely";
import type { Diagnosis } from "../../core/diagnosis.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import type { FailureNote } from "../synthesis/types.ts";
import { groupKind } from "./keys.ts";
import { type Executor, type Row, upsert } from "./rows.ts";

/** A group of which fewer than half passed, and why, where a probe has said so. */
export interface FailingGroup {
  readonly key: string;
  readonly taskId: string;
  readonly level: number;
  readonly passes: number;
  readonly diagnosis: Diagnosis | null;
}

/**
 * Of one try: the last probe of each candidate that was read, in their order; and the last group of each task of its climb, those with the fewest
 * passes first, at most `most` of them. Results that no decision read are none of it, nor is a task that is climbed with a hint.
 */
export async function failingGroups(
  db: Executor,
  scope: Scope,
  most: number,
): Promise<{ readonly probed: readonly FailingGroup[]; readonly climbed: readonly FailingGroup[] }> {
  const { experiment, iteration, try: attempt } = scope;
  const probed = await sql<FailingGroup>`
    with last as (
      select distinct on (p.candidate) p.* from probes p
      join iterations i on i.experiment = ${experiment} and i.iteration = ${iteration} and i.try = ${attempt}
      where p.scope = ${scopeKey(scope)} and p.candidate <= coalesce(i.last_candidate, -1)
      order by p.candidate, p.refinement desc
    )
    select group_key as key, task_id as "taskId", level, passes, diagnosis from last
    where 2 * passes < runs and diagnosis is not null order by candidate`.execute(db);
  const climbed = await sql<FailingGroup>`
    with offered as (
      select distinct on (g.task_id) g.*, b.update, k.place
      from batches b
      cross join lateral json_array_elements_text(b.groups) with ordinality as k(key, place)
      join groups g on g.key = k.key
      where b.experiment = ${experiment} and b.iteration = ${iteration} and b.try = ${attempt} and g.phase = 'climb' and not exists (
        select 1 from groups h
        where h.experiment = g.experiment and h.iteration = g.iteration and h.try = g.try and h.phase = 'probe'
          and h.task_id = g.task_id and ${groupKind("h.key")} = 'hint'
      )
      order by g.task_id, b.update desc, k.place desc
    )
    select key, task_id as "taskId", level, passes, null as diagnosis from offered
    where 2 * passes < size order by passes::float8 / size, update, place limit ${most}`.execute(db);
  return { probed: probed.rows, climbed: climbed.rows };
}

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
