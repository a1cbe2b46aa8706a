/** What engines serve, and the files that a policy's checkpoint names. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create sequence publications`.execute(db);
  await sql`
    create table engine_versions (
      url text primary key,
      policy text,
      state text not null,
      why text,
      since timestamptz not null default now(),
      target text not null,
      asked bigint not null,
      good text,
      keeper text not null,
      server jsonb not null
    )`.execute(db);
  await sql`alter table policies add files jsonb`.execute(db);
}
