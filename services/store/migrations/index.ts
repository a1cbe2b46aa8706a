/** Brings a database to this version's schema, once, however many processes start together. */
import { type Kysely, type Migration, Migrator, sql } from "kysely";
import { StoreError } from "../errors.ts";
import type { Database } from "../schema.ts";
import * as initial from "./0001-initial.ts";
import * as durability from "./0002-durability.ts";
import * as imports from "./0003-imports.ts";
import * as evidence from "./0004-evidence.ts";
import * as verdictLogs from "./0005-verdict-logs.ts";
import * as regradeRuns from "./0006-regrade-runs.ts";
import * as stoppedProbes from "./0007-stopped-probes.ts";
import * as frontier from "./0008-frontier.ts";
import * as spending from "./0009-spending.ts";
import * as lag from "./0010-lag.ts";
import * as engines from "./0011-engines.ts";

/** In order; a released migration is never edited, only followed by another. Imported statically so that a bundle holds them. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-initial": initial,
  "0002-durability": durability,
  "0003-imports": imports,
  "0004-evidence": evidence,
  "0005-verdict-logs": verdictLogs,
  "0006-regrade-runs": regradeRuns,
  "0007-stopped-probes": stoppedProbes,
  "0008-frontier": frontier,
  "0009-spending": spending,
  "0010-lag": lag,
  "0011-engines": engines,
};

/** Key of the advisory lock: any constant, the same in every version. */
const LOCK = 7_238_651;

async function executed(db: Kysely<Database>): Promise<string[]> {
  const found = await sql<{
    exists: boolean;
  }>`select to_regclass('kysely_migration') is not null as exists`.execute(db);
  if (!found.rows[0]?.exists) return [];
  const rows = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.rows.map((row) => row.name);
}

/** Throws StoreError `newer-schema` and changes nothing when the database holds a migration this version does not know. */
export async function migrate(
  db: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>> = MIGRATIONS,
): Promise<void> {
  await db.connection().execute(async (connection) => {
    // Waiting for another process to migrate is no stuck statement.
    await sql`set statement_timeout = '5min'`.execute(connection);
    await sql`select pg_advisory_lock(${LOCK}::bigint)`.execute(connection);
    try {
      const done = await executed(connection);
      const unknown = done.filter((name) => !(name in migrations));
      if (unknown.length > 0)
        throw new StoreError(
          "newer-schema",
          `the database was written by a newer version of tadpole (it holds ${unknown.join(", ")}): update tadpole, or use another data folder or DATABASE_URL`,
        );
      if (done.length === Object.keys(migrations).length) return;
      const migrator = new Migrator({
        db: connection,
        provider: { getMigrations: async () => ({ ...migrations }) },
      });
      const { error } = await migrator.migrateToLatest();
      if (error) throw error;
    } finally {
      await sql`select pg_advisory_unlock(${LOCK}::bigint)`.execute(connection);
      await sql`reset statement_timeout`.execute(connection);
    }
  });
}
