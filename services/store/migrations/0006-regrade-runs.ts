/** How far each regrade came: one that was cut half way can be told from a whole one, and gone on with. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table regrade_runs (
    experiment text not null, regrade integer not null, iteration integer, code_version text not null,
    total integer, begun_at timestamptz not null default now(), ended_at timestamptz,
    constraint regrade_runs_key primary key (experiment, regrade)
  )`.execute(db);
  // Of how many those before were, nobody noted: they are not gone on with.
  await sql`insert into regrade_runs (experiment, regrade, code_version, begun_at, ended_at)
    select experiment, regrade, '', min(created_at), max(created_at) from regrades group by 1, 2`.execute(db);
}
