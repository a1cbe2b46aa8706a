/** Policies, the updates that made them, and what evaluation measured. */
import type { PolicyKind, PolicyRef } from "../../core/policy.ts";
import { StoreError } from "./errors.ts";
import { type Executor, encodeRow, type Row, upsert } from "./rows.ts";

/**
 * A policy is its bytes: the first record of an id stays, and the same id with another checkpoint is StoreError `conflict`. `files` = URIs of the
 * artifacts that its checkpoint names, which garbage collection knows by this row alone.
 */
export async function recordPolicy(
  db: Executor,
  kind: PolicyKind,
  policy: PolicyRef,
  files: readonly string[] | null = null,
): Promise<void> {
  const { id, parent, step, checkpoint } = policy;
  const row = { id, kind, parent, step, sha256: checkpoint.sha256, checkpoint, files };
  await db
    .insertInto("policies")
    .values(encodeRow(row) as never)
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  const recorded = await getPolicy(db, id);
  if (recorded.checkpoint.sha256 !== checkpoint.sha256)
    throw new StoreError(
      "conflict",
      `policy ${id} is recorded with checkpoint ${recorded.checkpoint.sha256}, not ${checkpoint.sha256}`,
    );
}

/** Throws StoreError `missing`. */
export async function getPolicy(
  db: Executor,
  id: string,
): Promise<PolicyRef & { readonly kind: PolicyKind }> {
  const row = await db.selectFrom("policies").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw new StoreError("missing", `no policy ${id} is recorded (tadpole policy list shows all)`);
  return {
    id,
    kind: row.kind as PolicyKind,
    checkpoint: row.checkpoint,
    parent: row.parent,
    step: row.step,
  };
}

/** The groups an update was offered, whether or not they made a batch. */
export async function recordBatch(db: Executor, batch: Row<"batches">): Promise<void> {
  await upsert(db, "batches", batch, ["experiment", "iteration", "try", "update"]);
}

export async function recordUpdate(db: Executor, update: Row<"updates">): Promise<void> {
  await upsert(db, "updates", update, ["experiment", "iteration", "try", "update"]);
}

export async function recordEvaluation(db: Executor, evaluation: Row<"evaluations">): Promise<void> {
  await upsert(db, "evaluations", evaluation, ["key"]);
}

/** Hash of the task set that an experiment's evaluations call by that name. */
export async function taskSetHash(
  db: Executor,
  experiment: string,
  set: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("evaluations")
    .select("set_hash")
    .where("experiment", "=", experiment)
    .where("set_name", "=", set)
    .limit(1)
    .executeTakeFirst();
  return row?.set_hash;
}

/** The iteration of the experiment that ended with the policy; 0 for its start policy and for any other. */
export async function policyIteration(db: Executor, experiment: string, policy: string): Promise<number> {
  const row = await db
    .selectFrom("iterations")
    .select("iteration")
    .where("experiment", "=", experiment)
    .where("end_policy", "=", policy)
    .orderBy("iteration")
    .limit(1)
    .executeTakeFirst();
  return row?.iteration ?? 0;
}
