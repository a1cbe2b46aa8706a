/** Writing rows by their key: again is the same row, and other content under an immutable key is a conflict. */
import { type Insertable, type Kysely, type Selectable, sql, type Transaction } from "kysely";
import { canonicalJson } from "../../core/canonical.ts";
import { differingPaths } from "./canonical.ts";
import { StoreError } from "./errors.ts";
import type { Database } from "./schema.ts";

export type Executor = Kysely<Database> | Transaction<Database>;
export type TableName = keyof Database;

/** A row to write: JSON columns take their value as it is; it is stored as text. */
export type Row<T extends TableName> = {
  readonly [C in keyof Insertable<Database[T]>]:
    | Insertable<Database[T]>[C]
    | (C extends keyof Selectable<Database[T]> ? Selectable<Database[T]>[C] : never);
};
export type Column<T extends TableName> = keyof Database[T] & string;

/** pg would send an array as a Postgres array and an object by its own rules; every object here is JSON. */
export function encodeRow(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === "object" && value !== null && !(value instanceof Uint8Array)
        ? JSON.stringify(value)
        : value,
    ]),
  );
}

/** The tables that people read "last changed" from. */
const WITH_UPDATED_AT: ReadonlySet<string> = new Set(["experiments", "iterations", "attempts"]);

/** Inserts the row, or replaces every given column of the row with the same key. */
export async function upsert<T extends TableName>(
  db: Executor,
  table: T,
  row: Row<T>,
  keyColumns: readonly Column<T>[],
): Promise<void> {
  const encoded = encodeRow(row);
  const rest = Object.keys(encoded).filter((column) => !(keyColumns as readonly string[]).includes(column));
  await untyped(db)
    .insertInto(table)
    .values(encoded)
    .onConflict((conflict) => {
      const target = conflict.columns([...keyColumns]);
      if (rest.length === 0) return target.doNothing();
      return target.doUpdateSet({
        ...Object.fromEntries(rest.map((column) => [column, sql.ref(`excluded.${column}`)])),
        ...(WITH_UPDATED_AT.has(table) ? { updated_at: sql`now()` } : {}),
      } as never);
    })
    .execute();
}

/**
 * Inserts an immutable row; true = it is new. The same content again changes nothing; other content under the same key throws
 * StoreError `conflict` with the columns that differ.
 */
export async function insertOnce<T extends TableName>(
  db: Executor,
  table: T,
  row: Row<T>,
  keyColumns: readonly Column<T>[],
): Promise<boolean> {
  const encoded = encodeRow(row);
  const inserted = await untyped(db)
    .insertInto(table)
    .values(encoded)
    .onConflict((conflict) => conflict.columns([...keyColumns]).doNothing())
    .returning([...keyColumns])
    .execute();
  if (inserted.length > 0) return true;
  const given = row as Record<string, unknown>;
  let query = untyped(db).selectFrom(table).selectAll();
  for (const column of keyColumns) query = query.where(column, "=", given[column] as never);
  const existing = (await query.executeTakeFirstOrThrow()) as Record<string, unknown>;
  const differing = Object.keys(encoded).filter((column) => !same(existing[column], given[column]));
  if (differing.length > 0) {
    const key = keyColumns.map((column) => String(given[column])).join("/");
    const paths = differing.flatMap((column) =>
      differingPaths(existing[column], parsed(given[column])).map((path) => [column, ...path].join(".")),
    );
    throw new StoreError(
      "conflict",
      `${table} ${key} is already recorded with other content: ${paths.slice(0, 10).join(", ")}`,
    );
  }
  return false;
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function same(existing: unknown, given: unknown): boolean {
  if (existing instanceof Uint8Array && given instanceof Uint8Array)
    return Buffer.compare(existing, given) === 0;
  if (typeof existing === "object") return canonicalJson(existing) === canonicalJson(parsed(given) ?? null);
  return existing === given;
}

/** Table and columns are values here, which Kysely's types cannot follow; `Row` and `Column` hold the callers to them. */
function untyped(db: Executor): Kysely<Record<string, Record<string, unknown>>> {
  return db as unknown as Kysely<Record<string, Record<string, unknown>>>;
}
