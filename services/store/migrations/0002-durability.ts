/** Holds, tries with overrides, attempts that resume, pieces for replays, answered requests. */
import { type Kysely, sql } from "kysely";

const COLUMNS: readonly (readonly [table: string, columns: string])[] = [
  [
    "experiments",
    "add hold json, add epoch integer not null default 0, add amendments json not null default '[]'",
  ],
  [
    "iterations",
    "add from_phase text, add overrides json, add base_try integer, add stale boolean not null default false, add code_version text, add keys json, add last_candidate integer",
  ],
  [
    "attempts",
    "add experiment text not null default '', add epoch integer not null default 0, add kind text, add resumed_from integer, add resumed_turns integer, add note text, add late_result json",
  ],
  ["ledger", "add reply json, add answered boolean not null default true"],
  ["rollouts", "add reused_from text, add verdict_key text, add verdict_from text"],
  ["task_sets", "add last_candidate integer"],
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, columns] of COLUMNS) await sql.raw(`alter table ${table} ${columns}`).execute(db);
  await sql`create table pieces (
    experiment text not null, kind text not null, content_key text not null,
    iteration integer not null, try integer not null, result json not null, reused_from integer,
    created_at timestamptz not null default now(),
    constraint pieces_key primary key (experiment, kind, content_key, iteration, try)
  )`.execute(db);
  await sql`create table requests (
    key text not null, fingerprint text not null, status integer, response json,
    created_at timestamptz not null default now(),
    constraint requests_key primary key (key)
  )`.execute(db);
  await sql`create index attempts_by_experiment on attempts (experiment, epoch, updated_at)`.execute(db);
}
