/** Environments, tasks with their statements, and what validation and probing said about them. */
import type { Selectable } from "kysely";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { Evidence, Statement, Task } from "../../core/task.ts";
import type { Db } from "./database.ts";
import { StoreError } from "./errors.ts";
import { type Executor, insertOnce, type Row, upsert } from "./rows.ts";
import type { Database } from "./schema.ts";

export type TaskRow = Selectable<Database["tasks"]>;
export type ProbeRow = Selectable<Database["probes"]>;
export type ValidationRow = Selectable<Database["validations"]>;

export async function recordEnvironment(db: Executor, environment: Row<"environments">): Promise<void> {
  await upsert(db, "environments", environment, ["key"]);
}

/** As ids are made of a task's hash. */
const TASK_ID = /^t[0-9a-f]{16}$/;

/** `artifact` holds the whole task; the row only what lists and filters need. */
export async function recordTask(db: Executor, task: Task, artifact: ArtifactRef): Promise<void> {
  const { id, environment, type, generator, functions } = task;
  await insertOnce(db, "tasks", { id, environment, type, generator, functions: [...functions], artifact }, [
    "id",
  ]);
}

/** Throws StoreError `missing`. */
export async function getTask(db: Executor, id: string): Promise<TaskRow> {
  const row = await db.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) {
    const expected = TASK_ID.test(id) ? "" : ": expected t and 16 hex digits";
    throw new StoreError("missing", `no task ${id} is recorded${expected} (tadpole task list shows all)`);
  }
  return row;
}

export async function recordStatement(db: Executor, statement: Statement): Promise<void> {
  const { taskId, level, hash, text } = statement;
  await insertOnce(db, "statements", { task_id: taskId, level, hash, text }, ["task_id", "level"]);
}

/** Throws StoreError `missing`. */
export async function getStatement(db: Executor, taskId: string, level: number): Promise<Statement> {
  const row = await db
    .selectFrom("statements")
    .selectAll()
    .where("task_id", "=", taskId)
    .where("level", "=", level)
    .executeTakeFirst();
  if (!row) throw new StoreError("missing", `task ${taskId} has no statement of level ${level}`);
  return { taskId, level: level as Statement["level"], text: row.text, hash: row.hash };
}

export async function recordValidation(db: Executor, validation: Row<"validations">): Promise<void> {
  await upsert(db, "validations", validation, ["scope", "candidate"]);
}

/** A candidate as it was before it was sent back to its author or combined, or as it was refused afterwards. */
export interface EarlierForm {
  readonly outcome: string;
  readonly gates: readonly object[];
  readonly artifact: ArtifactRef;
}

/** Adds what the candidate is on record as to its earlier forms, once for each artifact. */
export async function keepEarlierForm(
  db: Db,
  of: { readonly scope: string; readonly candidate: number; readonly artifact: ArtifactRef },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom("validations")
      .select(["outcome", "gates", "repairs"])
      .where("scope", "=", of.scope)
      .where("candidate", "=", of.candidate)
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined) return;
    const form: EarlierForm = { outcome: row.outcome, gates: row.gates as object[], artifact: of.artifact };
    await appendForm(tx, of, (row.repairs ?? []) as EarlierForm[], form);
  });
}

/** A form that a gate refused after an earlier one had been valid, which stays what the row says. */
export async function keepRefusedForm(
  db: Db,
  { scope, candidate, ...form }: { readonly scope: string; readonly candidate: number } & EarlierForm,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom("validations")
      .select("repairs")
      .where("scope", "=", scope)
      .where("candidate", "=", candidate)
      .forUpdate()
      .executeTakeFirst();
    if (row !== undefined)
      await appendForm(tx, { scope, candidate }, (row.repairs ?? []) as EarlierForm[], form);
  });
}

/** Once: the same form again changes nothing. */
async function appendForm(
  tx: Executor,
  { scope, candidate }: { readonly scope: string; readonly candidate: number },
  earlier: readonly EarlierForm[],
  form: EarlierForm,
): Promise<void> {
  if (earlier.some(({ artifact }) => artifact.sha256 === form.artifact.sha256)) return;
  await tx
    .updateTable("validations")
    .set({ repairs: JSON.stringify([...earlier, form]) })
    .where("scope", "=", scope)
    .where("candidate", "=", candidate)
    .execute();
}

/** What the task's validations rest on; those that say nothing of it are left out. */
export async function validationEvidence(db: Executor, taskId: string): Promise<readonly Evidence[]> {
  const rows = await db
    .selectFrom("validations")
    .select("evidence")
    .where("task_id", "=", taskId)
    .where("evidence", "is not", null)
    .execute();
  return rows.map((row) => row.evidence as Evidence);
}

export async function recordProbe(db: Executor, probe: Row<"probes">): Promise<void> {
  await upsert(db, "probes", probe, ["scope", "candidate", "refinement"]);
}

/** A fixed set of validated tasks, by the hash of what it was made from. */
export async function recordTaskSet(
  db: Executor,
  set: {
    readonly hash: string;
    readonly spec: object;
    readonly tasks: readonly string[];
    readonly lastCandidate: number;
  },
): Promise<void> {
  const { hash, spec, tasks, lastCandidate } = set;
  await insertOnce(db, "task_sets", { hash, spec, tasks: [...tasks], last_candidate: lastCandidate }, [
    "hash",
  ]);
}

export async function findTaskSet(
  db: Executor,
  hash: string,
): Promise<{ readonly hash: string; readonly spec: unknown; readonly tasks: readonly string[] } | undefined> {
  return db
    .selectFrom("task_sets")
    .select(["hash", "spec", "tasks"])
    .where("hash", "=", hash)
    .executeTakeFirst();
}
