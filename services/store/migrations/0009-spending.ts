/** Spending told apart: who holds a reservation, how long sandboxes ran and for what, and the tokens of attempts that came to nothing. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table spend add owner text not null default '', alter reserved_usd drop not null`.execute(
    db,
  );
  await sql`
    create table sandbox_use (
      experiment text not null,
      iteration integer not null,
      try integer not null,
      phase text not null,
      work text not null,
      item text not null,
      generator text,
      task_id text,
      seconds double precision not null,
      primary key (experiment, iteration, try, phase, work, item)
    )`.execute(db);
  await sql`alter table attempts add lost_tokens jsonb`.execute(db);
}
