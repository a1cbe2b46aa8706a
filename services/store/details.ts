/** One rollout or one task in full, for people: rows joined with the artifacts they name. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { FileChange, Statement, Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { VerdictLog } from "../../core/verdict-log.ts";
import { type ArtifactStore, getJson } from "./artifacts.ts";
import { StoreError } from "./errors.ts";
import { type Lineage, taskLineage } from "./lineage.ts";
import { findRollout, type RolloutRow } from "./rollouts.ts";
import type { Executor } from "./rows.ts";
import { getStatement, getTask, type ProbeRow, type ValidationRow } from "./tasks.ts";

export interface RolloutDetail {
  readonly row: Omit<RolloutRow, "change" | "trajectory">;
  readonly statement: Statement;
  readonly change: readonly FileChange[];
  readonly trajectory: Trajectory;
  /** What grading found worth knowing about the change (`VERDICT_FLAGS`); null where it is not graded, or was before there were any. */
  readonly flags: readonly string[] | null;
}

export interface TaskDetail {
  readonly task: Task;
  readonly statements: readonly Statement[];
  readonly validations: readonly ValidationRow[];
  readonly probes: readonly ProbeRow[];
  /** Of every candidate that it is a revision of. */
  readonly lineage: readonly Lineage[];
}

/** Throws StoreError `missing`, or ArtifactError when the trajectory or the verdict's log is not readable. */
export async function showRollout(
  db: Executor,
  artifacts: ArtifactStore,
  key: string,
): Promise<RolloutDetail> {
  const found = await findRollout(db, key);
  if (!found) throw new StoreError("missing", `no rollout ${key} is recorded`);
  const { change, trajectory, ...row } = found;
  return {
    row,
    statement: await getStatement(db, row.task_id, row.level),
    change: change as FileChange[],
    trajectory: await getJson<Trajectory>(artifacts, trajectory as ArtifactRef),
    flags: await flagsIn(artifacts, row.verdict_log as ArtifactRef | null),
  };
}

async function flagsIn(artifacts: ArtifactStore, log: ArtifactRef | null): Promise<RolloutDetail["flags"]> {
  if (log === null) return null;
  const { flags } = await getJson<Pick<VerdictLog, "flags">>(artifacts, log);
  return flags ?? null;
}

/** Throws StoreError `missing`, or ArtifactError when the task is not readable. */
export async function showTask(db: Executor, artifacts: ArtifactStore, id: string): Promise<TaskDetail> {
  const row = await getTask(db, id);
  const [task, statements, validations, probes, lineage] = await Promise.all([
    getJson<Task>(artifacts, row.artifact as ArtifactRef),
    db.selectFrom("statements").selectAll().where("task_id", "=", id).orderBy("level").execute(),
    db
      .selectFrom("validations")
      .selectAll()
      .where("task_id", "=", id)
      .orderBy("scope")
      .orderBy("candidate")
      .execute(),
    db
      .selectFrom("probes")
      .selectAll()
      .where("task_id", "=", id)
      .orderBy("scope")
      .orderBy("candidate")
      .orderBy("refinement")
      .execute(),
    taskLineage(db, id),
  ]);
  return {
    task,
    statements: statements.map(({ task_id, level, text, hash }) => ({
      taskId: task_id,
      level: level as Statement["level"],
      text,
      hash,
    })),
    validations,
    probes,
    lineage,
  };
}
