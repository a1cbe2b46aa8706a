/** What a statement asks for and what solves it, by its text: for stand-in policies, which know the solutions. */
import { createHash } from "node:crypto";
import type { ArtifactRef } from "../../core/artifact.ts";
import type { FileChange, Task } from "../../core/task.ts";
import { type ArtifactStore, getJson } from "./artifacts.ts";
import type { Db } from "./database.ts";

export interface KnownAnswer {
  readonly level: number;
  readonly gold: readonly FileChange[];
}

/** Of equal statements that of the task with the smallest id. Null where no task is worded like this. */
export async function findAnswer(
  db: Db,
  artifacts: ArtifactStore,
  statement: string,
): Promise<KnownAnswer | null> {
  const row = await db
    .selectFrom("statements")
    .innerJoin("tasks", "tasks.id", "statements.task_id")
    .select(["tasks.artifact", "statements.level"])
    .where("statements.hash", "=", createHash("sha256").update(statement).digest("hex"))
    .orderBy("tasks.id")
    .executeTakeFirst();
  if (row === undefined) return null;
  const { gold } = await getJson<Task>(artifacts, row.artifact as ArtifactRef);
  return { level: row.level, gold };
}
