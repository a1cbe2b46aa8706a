/** The rows that garbage collection removes, and how many and how large they are. Sizes are those of the values, without indexes. */
import { type RawBuilder, sql } from "kysely";
import { OWNER, oldLateResults } from "./gc-names.ts";
import type { Node } from "./gc-select.ts";
import { scopeSql } from "./keys.ts";
import { discardTurns } from "./ledger.ts";
import type { Executor, TableName } from "./rows.ts";

export interface Amount {
  readonly items: number;
  readonly bytes: number;
}

/** Rows that belong to one experiment alone; its own row is the last to go. */
const OWN_TABLES = [
  "ledger",
  "regrades",
  "regrade_runs",
  "attempts",
  "rollouts",
  "groups",
  "batches",
  "updates",
  "evaluations",
  "spend",
  "sandbox_use",
  "failures",
  "probes",
  "validations",
  "pieces",
  "events",
  "iterations",
  "experiments",
] as const satisfies readonly TableName[];

/** Rows of what experiments share, by kind of node. */
const SHARED_TABLES = {
  task: ["statements", "tasks"],
  set: ["validations", "probes", "task_sets"],
  policy: ["policies"],
} as const satisfies Record<string, readonly TableName[]>;
export type SharedKind = keyof typeof SHARED_TABLES;

/** Rows of a large experiment take longer than any statement of a run. */
export async function patiently(tx: Executor): Promise<void> {
  await sql`set local statement_timeout = '10min'`.execute(tx);
}

/** One snapshot of the record. */
export async function inSnapshot<T>(db: Executor, read: (tx: Executor) => Promise<T>): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (tx) => {
      await patiently(tx);
      return read(tx);
    });
}

async function amountOf(
  tx: Executor,
  table: TableName,
  owners: readonly Node[],
): Promise<Map<string, Amount>> {
  const { rows } = await sql<{ owner: string } & Amount>`
    select ${OWNER[table]!} as owner, count(*) as items, sum(pg_column_size(t.*)) as bytes
    from ${sql.table(table)} as t where ${OWNER[table]!} = any(${owners}::text[]) group by 1`.execute(tx);
  return new Map(rows.map(({ owner, items, bytes }) => [owner, { items, bytes: Number(bytes) }]));
}

export function sum(amounts: Iterable<Amount>): Amount {
  let items = 0;
  let bytes = 0;
  for (const amount of amounts) {
    items += amount.items;
    bytes += amount.bytes;
  }
  return { items, bytes };
}

/** By name. */
export async function measureExperiments(
  tx: Executor,
  names: readonly string[],
): Promise<ReadonlyMap<string, Amount>> {
  if (names.length === 0) return new Map();
  const owners = names.map((name): Node => `experiment/${name}`);
  const parts: Map<string, Amount>[] = [];
  for (const table of OWN_TABLES) parts.push(await amountOf(tx, table, owners));
  return new Map(
    names.map((name) => [name, sum(parts.flatMap((part) => part.get(`experiment/${name}`) ?? []))]),
  );
}

export async function measureShared(tx: Executor, kind: SharedKind, nodes: readonly Node[]): Promise<Amount> {
  if (nodes.length === 0) return { items: 0, bytes: 0 };
  const parts: Map<string, Amount>[] = [];
  for (const table of SHARED_TABLES[kind]) parts.push(await amountOf(tx, table, nodes));
  return { items: nodes.length, bytes: sum(parts.flatMap((part) => [...part.values()])).bytes };
}

async function remove(tx: Executor, table: TableName, owners: readonly Node[]): Promise<void> {
  await sql`delete from ${sql.table(table)} where ${OWNER[table]!} = any(${owners}::text[])`.execute(tx);
}

/** All rows of an experiment. */
export async function removeExperiment(tx: Executor, name: string): Promise<void> {
  for (const table of OWN_TABLES) await remove(tx, table, [`experiment/${name}`]);
}

export async function removeShared(tx: Executor, kind: SharedKind, nodes: readonly Node[]): Promise<void> {
  for (const table of SHARED_TABLES[kind]) await remove(tx, table, nodes);
}

/** No transaction of an attempt that still writes is as old. */
const TURN_GRACE = "1 hour";

/**
 * Turns of slots that nobody goes on with: their rollout is accepted, their try is finished or has a later one, or their experiment is done,
 * stopped or gone. A failed experiment goes on from its turns when it is run again.
 */
const deadSlots = (live: readonly string[]): RawBuilder<{ rollout_key: string }> => sql`
  select rollout_key from (
    select rollout_key, split_part(rollout_key, '/', 1) as experiment from ledger
    group by rollout_key having max(created_at) < now() - ${TURN_GRACE}::interval
  ) as slot
  where exists (select from rollouts where key = slot.rollout_key)
    or not (slot.experiment = any(${live}::text[])
      or exists (select from experiments where name = slot.experiment and status in ('running', 'failed')))
    or exists (
      select from iterations as i
      where i.experiment = slot.experiment
        and starts_with(slot.rollout_key, ${scopeSql("i")} || '/')
        and (i.status = 'finished' or exists (
          select from iterations as later where later.experiment = i.experiment and later.iteration = i.iteration
            and later.try > i.try and later.status <> 'pending')))`;

export async function measureTurns(tx: Executor, live: readonly string[]): Promise<Amount> {
  const { rows } = await sql<Amount>`
    select count(*) as items, coalesce(sum(pg_column_size(l.*)), 0) as bytes
    from ledger as l where rollout_key in (${deadSlots(live)})`.execute(tx);
  return { items: rows[0]!.items, bytes: Number(rows[0]!.bytes) };
}

export async function removeTurns(tx: Executor, live: readonly string[]): Promise<void> {
  await discardTurns(tx, sql`rollout_key in (${deadSlots(live)})`);
}

export async function measureLateResults(tx: Executor, keepDays: number): Promise<Amount> {
  const { rows } = await sql<Amount>`
    select count(*) as items, coalesce(sum(pg_column_size(late_result -> 'trajectory')), 0) as bytes
    from attempts where ${oldLateResults(keepDays)}`.execute(tx);
  return { items: rows[0]!.items, bytes: Number(rows[0]!.bytes) };
}

/** Only the reference goes. */
export async function forgetLateResults(tx: Executor, keepDays: number): Promise<void> {
  await sql`update attempts set late_result = (late_result::jsonb - 'trajectory')::json
    where ${oldLateResults(keepDays)}`.execute(tx);
}

const oldRequests = (keepDays: number): RawBuilder<boolean> =>
  sql`created_at < now() - make_interval(days => ${keepDays}::integer)`;

export async function measureRequests(tx: Executor, keepDays: number): Promise<Amount> {
  const { rows } = await sql<Amount>`
    select count(*) as items, coalesce(sum(pg_column_size(r.*)), 0) as bytes
    from requests as r where ${oldRequests(keepDays)}`.execute(tx);
  return { items: rows[0]!.items, bytes: Number(rows[0]!.bytes) };
}

export async function removeRequests(tx: Executor, keepDays: number): Promise<void> {
  await sql`delete from requests where ${oldRequests(keepDays)}`.execute(tx);
}
