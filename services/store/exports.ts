/** What an experiment has to give to other programs: tasks it admitted, rollouts it accepted. */
import { sql } from "kysely";
import { scopeKey } from "../../core/scope.ts";
import { StoreError } from "./errors.ts";
import type { RolloutRow } from "./rollouts.ts";
import type { Executor } from "./rows.ts";
import { latestTries } from "./summary.ts";

/** Postgres' largest: while a pool is being filled, all count. */
const MAX_INTEGER = 2 ** 31 - 1;

export interface AdmittedTask {
  readonly taskId: string;
  /** Level of the statement it was admitted with. */
  readonly level: number;
}

/**
 * Tasks that the latest try of each iteration admitted (candidates beyond the last that its pool read are none of them), or, where nothing was probed, trained on; in that order, each once, with the first
 * level it was admitted at.
 */
export async function admittedTasks(db: Executor, experiment: string): Promise<AdmittedTask[]> {
  const admitted = new Map<string, AdmittedTask>();
  for (const row of await latestTries(db, experiment)) {
    const { rows } = await sql<{ task_id: string; level: number }>`
      with probed as (
        select distinct on (candidate) candidate, task_id, level, decision from probes
        where scope = ${scopeKey(row)} and candidate <= ${row.last_candidate ?? MAX_INTEGER}
        order by candidate, refinement desc
      ), trained as (
        select min(key) as candidate, task_id, level from groups
        where experiment = ${experiment} and iteration = ${row.iteration} and try = ${row.try} and phase = 'climb'
        group by task_id, level
      )
      select task_id, level from (
        select task_id, level, candidate, '' as key from probed where decision = 'admit'
        union all
        select task_id, level, 0, candidate from trained where not exists (select 1 from probed)
      ) chosen order by candidate, key, task_id`.execute(db);
    for (const { task_id: taskId, level } of rows)
      if (!admitted.has(taskId)) admitted.set(taskId, { taskId, level });
  }
  return [...admitted.values()];
}

/** A rollout with what its group says of it; null while the group is not complete. */
export type ExperimentRollout = RolloutRow & {
  readonly iteration: number | null;
  readonly try: number | null;
  readonly phase: string | null;
};

const PAGE = 200;

/** Accepted rollouts whose groups belong to the experiment, by key. Throws StoreError `missing` where there is no such experiment. */
export async function* experimentRollouts(
  db: Executor,
  experiment: string,
): AsyncGenerator<ExperimentRollout, void, void> {
  const known = await db
    .selectFrom("experiments")
    .select("name")
    .where("name", "=", experiment)
    .executeTakeFirst();
  if (known === undefined) throw new StoreError("missing", `no experiment ${experiment} is recorded`);
  let after = "";
  for (;;) {
    const rows = await db
      .selectFrom("rollouts")
      .leftJoin("groups", "groups.key", "rollouts.group_key")
      .selectAll("rollouts")
      .select(["groups.iteration", "groups.try", "groups.phase"])
      .where((eb) =>
        eb.or([
          eb("groups.experiment", "=", experiment),
          eb.and([
            eb("groups.key", "is", null),
            eb("rollouts.group_key", "like", `${likeLiteral(experiment)}/%`),
          ]),
        ]),
      )
      .where("rollouts.key", ">", after)
      .orderBy("rollouts.key")
      .limit(PAGE)
      .execute();
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.key;
  }
}

const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, "\\$&");
