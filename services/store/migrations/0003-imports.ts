/** Tasks that were read from files of other projects. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table imports (
    key text not null, format text not null, source_id text not null, hash text not null, image text not null,
    fail_to_pass integer not null, pass_to_pass integer not null, gold boolean not null,
    origin json not null, artifact json not null,
    created_at timestamptz not null default now(),
    constraint imports_key primary key (key)
  )`.execute(db);
  await sql`create index imports_by_source on imports (format, source_id)`.execute(db);
}
