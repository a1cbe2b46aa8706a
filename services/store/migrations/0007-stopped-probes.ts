/** Probes that stopped early: how many rollouts they were planned with, and the pass rate that their results are worth. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table probes add planned integer, add rate double precision`.execute(db);
}
