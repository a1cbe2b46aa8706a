/** What a verdict was found by: an artifact with its statuses, its log and how long it took. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table rollouts add verdict_log json`.execute(db);
}
