/** The connection to the record: a small pool, limits on every statement, errors as StoreError, the schema brought up to date. */
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import { StoreError, storeErrorFrom } from "./errors.ts";
import { migrate } from "./migrations/index.ts";
import type { Database } from "./schema.ts";

export type Db = Kysely<Database>;

export interface DatabaseOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Connections at most. Several processes share one server, whose default is 100. */
  readonly poolSize?: number;
  /** Milliseconds until a connection attempt is given up. */
  readonly connectMs?: number;
  /** Milliseconds until a statement is given up. */
  readonly statementMs?: number;
}

/** host:port/database, without user and password, for messages. */
export function describeUrl(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
  } catch {
    throw new StoreError("invalid", "DATABASE_URL: expected postgres://user:password@host:port/database");
  }
}

// int8 arrives as text by default; counts, byte lengths and seeds all stay below 2^53.
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** A pool whose every failure is a StoreError where its cause is known, and which keeps no connection that failed. */
function translatingPool(pool: pg.Pool, where: string): PostgresPool {
  const rethrow = (error: unknown): never => {
    throw storeErrorFrom(error, where);
  };
  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    let lost = false;
    return {
      query: (sql: string, parameters: unknown[]) =>
        client.query(sql, parameters).catch((error) => {
          const translated = storeErrorFrom(error, where);
          lost ||= translated instanceof StoreError && translated.kind === "unreachable";
          throw translated;
        }),
      release: (destroy?: boolean) => client.release(destroy || lost),
    } as unknown as PostgresPoolClient;
  };
  return { connect: () => pool.connect().then(wrap, rethrow), end: () => pool.end() };
}

/** Connects without touching the schema; `openDatabase` is what most callers want. */
export function connectDatabase(url: string, options: DatabaseOptions = {}): Db {
  const where = describeUrl(url);
  const pool = new pg.Pool({
    connectionString: url,
    application_name: options.applicationName ?? "tadpole",
    max: options.poolSize ?? 4,
    connectionTimeoutMillis: options.connectMs ?? 10_000,
    statement_timeout: options.statementMs ?? 30_000,
    // A process that dies inside a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    types,
  });
  // The query that meets a broken connection reports it; unheard, the events of an idle or a lent one would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: translatingPool(pool, where) }) });
}

/**
 * Opens the database and brings its schema up to date; safe from several processes at once. `db.destroy()` closes it.
 * Throws StoreError `unreachable` or `newer-schema`.
 */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<Db> {
  const db = connectDatabase(url, options);
  try {
    await migrate(db);
    return db;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
