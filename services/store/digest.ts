/**
 * The canonical digest of an experiment's record: what it decided and made, without when, how often, by whom and at what pace. Two runs of
 * the same experiment under the same name have equal digests, however often they were interrupted.
 */
import { sql } from "kysely";
import { canonicalJson } from "../../core/canonical.ts";
import { type Scope, scopeKey } from "../../core/scope.ts";
import { hashJson } from "../hashing/index.ts";
import { sha256Of } from "./artifact-files.ts";
import { differingPaths } from "./canonical.ts";
import { getExperiment } from "./experiments.ts";
import type { Column, Executor, TableName } from "./rows.ts";
import { ENDS } from "./timeline.ts";

/** Per table its key, and the columns that differ between equal runs: clocks, durations, origins, what a server had in its cache. */
const TABLES = {
  experiments: table("experiments", ["name"], ["updated_at", "code_version", "hold", "epoch"]),
  events: table("events", ["key"]),
  iterations: table("iterations", ["experiment", "iteration", "try"], ["updated_at", "code_version"]),
  task_sets: table("task_sets", ["hash"]),
  tasks: table("tasks", ["id"]),
  statements: table("statements", ["task_id", "level"]),
  validations: table("validations", ["scope", "candidate"]),
  probes: table("probes", ["scope", "candidate", "refinement"]),
  groups: table("groups", ["key"]),
  rollouts: table(
    "rollouts",
    ["key"],
    ["model_seconds", "tool_seconds", "tokens", "reused_from", "verdict_log"],
  ),
  batches: table("batches", ["experiment", "iteration", "try", "update"]),
  updates: table("updates", ["experiment", "iteration", "try", "update"]),
  policies: table("policies", ["id"]),
  evaluations: table("evaluations", ["key"]),
};

function table<T extends TableName>(_name: T, key: readonly Column<T>[], leftOut: readonly Column<T>[] = []) {
  return { key: key as readonly string[], leftOut: ["created_at", ...leftOut] };
}

export type ComparedTable = keyof typeof TABLES;
export const COMPARED_TABLES = Object.keys(TABLES) as ComparedTable[];

/** Rows by their key (`a/b`), each with the columns that are compared, as canonical JSON. */
export type ComparedRows = ReadonlyMap<string, Readonly<Record<string, string>>>;
export type ComparedRecord = Readonly<Record<ComparedTable, ComparedRows>>;

export interface RecordDigest {
  readonly sha256: string;
  readonly tables: Readonly<Record<ComparedTable, { readonly rows: number; readonly sha256: string }>>;
}

export interface RowDifference {
  readonly table: ComparedTable;
  readonly key: string;
  /** Path of what differs, from the column on; null when the row is in one record only. */
  readonly column: string | null;
  /** As they are, shortened; null where the row is missing. */
  readonly left: string | null;
  readonly right: string | null;
}

type AnyRow = Readonly<Record<string, unknown>>;

/**
 * Everything of the experiment that is compared, from one snapshot of the database. Candidates beyond the last one whose result was read
 * are surplus: how far they got depends on the moment they were cancelled, and nothing depends on them; so their validations,
 * probes and groups are left out, and every task, statement and policy that nothing else refers to. Throws StoreError `missing`.
 */
export async function comparedRecord(db: Executor, experiment: string): Promise<ComparedRecord> {
  const read = async (tx: Executor): Promise<ComparedRecord> => {
    await getExperiment(tx, experiment);
    const found = await selectRows(tx, experiment);
    return Object.fromEntries(
      COMPARED_TABLES.map((name) => [name, compared(name, found[name])]),
    ) as unknown as ComparedRecord;
  };
  return db.isTransaction ? read(db) : db.transaction().setIsolationLevel("repeatable read").execute(read);
}

async function selectRows(tx: Executor, experiment: string): Promise<Record<ComparedTable, AnyRow[]>> {
  const own = <T extends "events" | "iterations" | "evaluations" | "batches" | "updates" | "groups">(
    name: T,
  ) => selectWhere(tx, name, "experiment", [experiment]);
  const experiments = await selectWhere(tx, "experiments", "name", [experiment]);
  const events = (await own("events")).filter(isPhase);
  const iterations = await own("iterations");
  const evaluations = await own("evaluations");
  const batches = await own("batches");
  const updates = await own("updates");
  const taskSets = await selectWhere(tx, "task_sets", "hash", distinct(evaluations, "set_hash"));
  const last = new Map<string, number | null>([
    ...iterations.map(
      (row) => [scopeKey(row as unknown as Scope), row.last_candidate as number | null] as const,
    ),
    ...taskSets.map((row) => [`set/${row.hash}`, row.last_candidate as number | null] as const),
  ]);
  const isRead = (row: AnyRow) => {
    const end = last.get(String(row.scope));
    // Null while the pool is filled, and for one that ran out of candidates: all of them count.
    return end == null || Number(row.candidate) <= end;
  };
  const scopes = [...last.keys()];
  const validations = (await selectWhere(tx, "validations", "scope", scopes)).filter(isRead);
  const probes = (await selectWhere(tx, "probes", "scope", scopes)).filter(isRead);
  const probed = new Set(probes.map((row) => row.group_key));
  const groups = (await own("groups")).filter((row) => row.phase !== "probe" || probed.has(row.key));
  const rollouts = await selectWhere(tx, "rollouts", "group_key", distinct(groups, "key"));
  const tasks = await selectWhere(
    tx,
    "tasks",
    "id",
    distinct([...validations, ...groups, ...taskSets.flatMap(tasksOf)], "task_id"),
  );
  const shown = new Set([...probes, ...groups].map((row) => `${row.task_id}/${row.level}`));
  const statements = (await selectWhere(tx, "statements", "task_id", distinct(tasks, "id"))).filter((row) =>
    shown.has(`${row.task_id}/${row.level}`),
  );
  const policies = await selectWhere(tx, "policies", "id", [
    ...new Set([
      ...distinct(iterations, "start_policy"),
      ...distinct(iterations, "end_policy"),
      ...distinct(updates, "parent_policy"),
      ...distinct(updates, "policy"),
      ...distinct(groups, "policy"),
      ...distinct(evaluations, "policy"),
    ]),
  ]);
  return {
    ...{
      experiments,
      events,
      iterations,
      task_sets: taskSets,
      tasks,
      statements,
      validations,
      probes,
      groups,
      rollouts,
    },
    ...{ batches, updates, policies, evaluations },
  };
}

/**
 * Holds, resumes and ends of a run tell who interrupted it and how often; that it is done stands in its status, which is written before
 * the event and so may be read without it.
 */
function isPhase({ kind, detail }: AnyRow): boolean {
  return kind === "phase" && !ENDS.has((detail as { readonly phase: string }).phase);
}

const tasksOf = (set: AnyRow) => (set.tasks as readonly string[]).map((id) => ({ task_id: id }));

function distinct(rows: readonly AnyRow[], column: string): string[] {
  return [...new Set(rows.flatMap((row) => (row[column] == null ? [] : [String(row[column])])))];
}

async function selectWhere(
  tx: Executor,
  name: ComparedTable,
  column: string,
  values: readonly string[],
): Promise<AnyRow[]> {
  const found = await sql<AnyRow>`
    select * from ${sql.table(name)} where ${sql.ref(column)} = any(${values}::text[])`.execute(tx);
  return found.rows;
}

/** The gate `ends` tells how many CPU seconds the tests took. */
function withoutPace(gates: unknown): unknown {
  const found = gates as readonly { readonly gate?: string; readonly evidence?: string }[];
  return found.map((gate) => (gate.gate === "ends" ? { ...gate, evidence: null } : gate));
}

/** The id of a request to amend is its asker's choice. */
function withoutRequest(amendments: unknown): unknown {
  return (amendments as readonly object[]).map((amendment) => ({ ...amendment, request: null }));
}

/** What stands for a value that carries more than what is compared. */
const STRIPPED: Readonly<Record<string, (value: unknown) => unknown>> = {
  gates: withoutPace,
  amendments: withoutRequest,
};

function compared(name: ComparedTable, rows: readonly AnyRow[]): ComparedRows {
  const { key, leftOut } = TABLES[name];
  const keyed = rows.map((row): [string, Record<string, string>] => [
    key.map((column) => String(row[column])).join("/"),
    Object.fromEntries(
      Object.entries(row)
        .filter(([column]) => !leftOut.includes(column))
        .map(([column, value]) => [column, canonicalJson(STRIPPED[column]?.(value) ?? value)]),
    ),
  ]);
  return new Map(keyed.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function digestOf(record: ComparedRecord): RecordDigest {
  const tables = Object.fromEntries(
    COMPARED_TABLES.map((name) => {
      const lines = [...record[name].values()].map((row) => canonicalJson(row));
      return [name, { rows: lines.length, sha256: sha256Of(Buffer.from(lines.join("\n"))) }];
    }),
  ) as unknown as RecordDigest["tables"];
  return { sha256: hashJson(tables), tables };
}

/** What a value looks like in a message. */
const SHOWN_CHARACTERS = 120;

/** The first differences, at most `limit`, in the order of the tables and their keys. */
export function recordDifferences(
  left: ComparedRecord,
  right: ComparedRecord,
  limit: number,
): RowDifference[] {
  const found: RowDifference[] = [];
  for (const name of COMPARED_TABLES) {
    for (const key of [...new Set([...left[name].keys(), ...right[name].keys()])].sort()) {
      if (found.length >= limit) return found;
      found.push(...rowDifferences(name, key, left[name].get(key), right[name].get(key)));
    }
  }
  return found.slice(0, limit);
}

function rowDifferences(
  name: ComparedTable,
  key: string,
  left: Readonly<Record<string, string>> | undefined,
  right: Readonly<Record<string, string>> | undefined,
): RowDifference[] {
  const whole = (row: object | undefined) => (row === undefined ? null : "present");
  if (left === undefined || right === undefined)
    return left === right ? [] : [{ table: name, key, column: null, left: whole(left), right: whole(right) }];
  const parsed = (text: string | undefined) => (text === undefined ? undefined : JSON.parse(text));
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .filter((column) => left[column] !== right[column])
    .flatMap((column) => {
      const values = [parsed(left[column]), parsed(right[column])] as const;
      return differingPaths(...values).map((path) => ({
        table: name,
        key,
        column: [column, ...path].join("."),
        left: shown(values[0], path),
        right: shown(values[1], path),
      }));
    });
}

function shown(value: unknown, path: readonly string[]): string | null {
  let part = value as Record<string, unknown> | undefined | null;
  for (const name of path) part = part?.[name] as Record<string, unknown> | undefined;
  const text = part === undefined ? null : JSON.stringify(part);
  return text !== null && text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
