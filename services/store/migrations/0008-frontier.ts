/** What tasks cost and why they were changed: a ledger of spending, repairs of candidates, diagnoses of probes, failures for the author. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table spend (
      key text primary key,
      experiment text not null,
      iteration integer,
      try integer,
      phase text not null,
      candidate integer,
      generator text,
      model text not null,
      reserved jsonb not null,
      reserved_usd double precision not null,
      used jsonb,
      usd double precision,
      created_at timestamptz not null default now(),
      settled_at timestamptz
    )`.execute(db);
  await sql`create index spend_experiment on spend (experiment, iteration)`.execute(db);
  await sql`
    create table failures (
      rollout_key text primary key,
      experiment text not null,
      iteration integer not null,
      task_id text not null,
      cause text not null,
      evidence text not null,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index failures_experiment on failures (experiment, iteration)`.execute(db);
  await sql`create index statements_hash on statements (hash)`.execute(db);
  await sql`alter table validations add repairs jsonb`.execute(db);
  await sql`alter table probes add diagnosis jsonb`.execute(db);
  await sql`alter table rollouts add tokens jsonb`.execute(db);
}
