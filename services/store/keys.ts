/** What the keys of core/scope.ts and of the workflows say, as SQL tells it. */
import { type RawBuilder, sql } from "kysely";

/** `scopeKey` of a row with the columns experiment, iteration and try. */
export const scopeSql = (alias: string): RawBuilder<string> =>
  sql<string>`${sql.ref(`${alias}.experiment`)} || '/it/' || ${sql.ref(`${alias}.iteration`)} || '/try/' || ${sql.ref(`${alias}.try`)}`;

/** What a pool sampled the group of this key for; null where no pool did. */
export const groupKind = (key: string): RawBuilder<"probe" | "hint" | null> =>
  sql`substring(${sql.ref(key)} from '/task/[0-9]+/(probe|hint)/')`;

/** The candidate of a key below a pool's; null for another key. */
export const candidateOfKey = (key: string): RawBuilder<number | null> =>
  sql`substring(${sql.ref(key)} from '/task/([0-9]+)/')::int`;
