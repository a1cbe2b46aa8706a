/** The tasks of an iteration's pool, as its climb had them. */
import { type Selectable, sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PooledTask } from "../../core/pool.ts";
import { scopeKey } from "../../core/scope.ts";
import { admittedIn } from "./admitted.ts";
import { StoreError } from "./errors.ts";
import type { IterationRow } from "./experiments.ts";
import type { Executor } from "./rows.ts";
import type { Database } from "./schema.ts";
import { latestTries } from "./summary.ts";

/** What an iteration was begun with, as far as its pool is concerned. */
export interface PinnedPool {
  readonly settings: ExperimentSettings;
  /** Tasks that it was given; absent = it made a pool. */
  readonly pool?: readonly PooledTask[];
}

const EVERY = 2_147_483_647;

/** Results of later candidates are none of the pool; without a bound while it is being filled. */
export const lastRead = (row: IterationRow): number => row.last_candidate ?? EVERY;

export type ProbeResult = Pick<
  Selectable<Database["probes"]>,
  "candidate" | "refinement" | "passes" | "runs" | "planned" | "rate" | "decision"
>;

/** Probes of the pool by candidate, then by refinement. */
export async function probesOf(db: Executor, row: IterationRow): Promise<ProbeResult[]> {
  return db
    .selectFrom("probes")
    .select(["candidate", "refinement", "passes", "runs", "planned", "rate", "decision"])
    .where("scope", "=", scopeKey(row))
    .where("candidate", "<=", lastRead(row))
    .orderBy("candidate")
    .orderBy("refinement")
    .execute();
}

/** In the order in which they were admitted so far; `level` is null where nothing was probed. */
export async function pooledTasks(db: Executor, row: IterationRow): Promise<readonly PooledTask[]> {
  const { pool } = row.pinned as PinnedPool;
  if (pool !== undefined) return pool;
  const { rows } = await sql<PooledTask>`
    with first as (
      select distinct on (task_id) * from ${admittedIn(scopeKey(row))} own order by task_id, candidate
    )
    select f.task_id as "taskId", e.name as environment, f.level, f.rate as "passRate"
    from first f join tasks t on t.id = f.task_id join environments e on e.key = t.environment
    order by f.candidate`.execute(db);
  return rows;
}

export interface PoolTask {
  readonly id: string;
  readonly type: string;
  readonly generator: string;
  readonly environment: string;
  /** Of the statement that the climb shows. */
  readonly level: number;
  readonly functions: readonly string[];
  /** Of that statement; null where there is none on record. */
  readonly words: number | null;
}

/** The same tasks with what is said of them, in the same order. */
export async function poolTasks(db: Executor, row: IterationRow): Promise<readonly PoolTask[]> {
  const tasks = await pooledTasks(db, row);
  const { settings } = row.pinned as PinnedPool;
  const chosen = tasks.map(({ taskId, level }, place) => ({
    place,
    id: taskId,
    level: level ?? settings.synthesis.startLevel,
  }));
  const { rows } = await sql<PoolTask>`
    select t.id, t.type, t.generator, coalesce(e.name, t.environment) as environment, c.level, t.functions,
      array_length(regexp_split_to_array(trim(s.text), '\\s+'), 1) as words
    from json_to_recordset(${JSON.stringify(chosen)}::json) as c(place int, id text, level int)
    join tasks t on t.id = c.id left join environments e on e.key = t.environment
    left join statements s on s.task_id = c.id and s.level = c.level order by c.place`.execute(db);
  return rows;
}

/** Tasks that the gates let through, admitted or not, in the order of candidates; `level` is that of the last probe, null where nothing was probed. */
export async function validTasks(
  db: Executor,
  row: IterationRow,
): Promise<readonly Pick<PooledTask, "taskId" | "level">[]> {
  const { rows } = await sql<Pick<PooledTask, "taskId" | "level">>`
    select v.task_id as "taskId", (
      select level from probes p where p.scope = v.scope and p.candidate = v.candidate and p.task_id = v.task_id
      order by refinement desc limit 1
    ) as level
    from validations v
    where v.scope = ${scopeKey(row)} and v.task_id is not null and v.candidate <= ${lastRead(row)}
    order by v.candidate`.execute(db);
  return rows;
}

/** Of an iteration that is finished. Throws StoreError `missing` where its latest try has no whole pool. */
export async function poolOf(
  db: Executor,
  experiment: string,
  iteration: number,
): Promise<readonly PooledTask[]> {
  const row = (await latestTries(db, experiment)).find((one) => one.iteration === iteration);
  if (row === undefined || row.last_candidate === null)
    throw new StoreError("missing", `iteration ${iteration} of ${experiment} has no whole pool on record`);
  return pooledTasks(db, row);
}
