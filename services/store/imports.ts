/** Imported tasks on record: a row each, by the hash of what was read, and the artifact that holds it. */
import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { ArtifactRef } from "../../core/artifact.ts";
import { StoreError } from "./errors.ts";
import type { Executor } from "./rows.ts";
import type { Database } from "./schema.ts";

export type ImportRow = Selectable<Database["imports"]>;
export interface NewImport {
  /** sha256 (hex) of the task as it was read, without where it stood. */
  readonly hash: string;
  readonly format: string;
  readonly sourceId: string;
  /** As the task names it, or "Dockerfile". */
  readonly image: string;
  readonly failToPass: number;
  readonly passToPass: number;
  readonly gold: boolean;
  /** Where it was read first: file, row, line. */
  readonly origin: object;
  readonly artifact: ArtifactRef;
}

/** `changed`: the source has a task of that name with other content, which stays on record, too. */
export type ImportOutcome = "new" | "changed" | "unchanged";

/** `i` + 16 hex digits. */
export const importKey = (hash: string): string => `i${hash.slice(0, 16)}`;

/** The same task again changes nothing, wherever it was read. */
export async function recordImport(db: Executor, found: NewImport): Promise<ImportOutcome> {
  const { hash, format, sourceId, image, failToPass, passToPass, gold, origin, artifact } = found;
  const { rows } = await sql<{ earlier: boolean }>`
    with earlier as (select 1 from imports where format = ${format} and source_id = ${sourceId} limit 1)
    insert into imports (key, format, source_id, hash, image, fail_to_pass, pass_to_pass, gold, origin, artifact)
    values (${importKey(hash)}, ${format}, ${sourceId}, ${hash}, ${image}, ${failToPass}, ${passToPass}, ${gold},
      ${JSON.stringify(origin)}, ${JSON.stringify(artifact)})
    on conflict (key) do nothing
    returning exists (select from earlier) as earlier`.execute(db);
  if (rows.length === 0) return "unchanged";
  return rows[0]!.earlier ? "changed" : "new";
}

/** An imported task that was proven, with the statement that its source gives. */
export interface ProvenImport {
  readonly id: string;
  readonly environment: { readonly name: string; readonly key: string };
  readonly level: number;
  readonly functions: readonly string[];
  readonly artifact: unknown;
}

/** By id. */
export async function provenImports(db: Executor): Promise<ProvenImport[]> {
  const { rows } = await sql<ProvenImport>`
    select t.id, json_build_object('name', e.name, 'key', e.key) as environment, s.level, t.functions, t.artifact
    from tasks t join environments e on e.key = t.environment
    join lateral (select level from statements where task_id = t.id order by level desc limit 1) s on true
    where t.generator = 'import' order by t.id`.execute(db);
  return rows;
}

/** Throws StoreError `missing`. */
export async function getImport(db: Executor, key: string): Promise<ImportRow> {
  const row = await db.selectFrom("imports").selectAll().where("key", "=", key).executeTakeFirst();
  if (!row) throw new StoreError("missing", `no import ${key} is recorded`);
  return row;
}
