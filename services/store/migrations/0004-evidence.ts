/** What verdicts and validations rest on, and verdicts that were looked at again. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table rollouts add evidence json`.execute(db);
  await sql`alter table validations add evidence json`.execute(db);
  await sql`create table regrades (
    experiment text not null, regrade integer not null, rollout_key text not null,
    old_outcome text not null, old_rule text not null, outcome text not null, rule text not null,
    offending json not null, evidence json not null,
    created_at timestamptz not null default now(),
    constraint regrades_key primary key (experiment, regrade, rollout_key)
  )`.execute(db);
}
