/** The age of tokens: which versions sampled a rollout where there was more than one, and at what pace each batch was made. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table rollouts add versions json`.execute(db);
  await sql`alter table batches add pace json`.execute(db);
}
