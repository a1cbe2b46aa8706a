/** What is worth knowing about a rollout's change whatever its verdict: kept in the verdict's log, no part of a reward. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactRef } from "../core/artifact.ts";
import type { FileChange, Outcome, Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { PreparedEnvironment } from "../services/environments/index.ts";
import { flagsOf, type VerdictFlag } from "../services/grading/index.ts";
import { type ArtifactStore, getJson, type RolloutRow } from "../services/store/index.ts";

export async function flagsOfRollout(
  artifacts: ArtifactStore,
  row: Pick<RolloutRow, "change" | "trajectory">,
  {
    task,
    environment,
    outcome,
  }: {
    readonly task: Task;
    readonly environment: Pick<PreparedEnvironment, "root">;
    readonly outcome: Outcome;
  },
): Promise<readonly VerdictFlag[]> {
  const { messages } = await getJson<Trajectory>(artifacts, row.trajectory as ArtifactRef);
  const last = messages.findLast(({ role }) => role === "assistant");
  return flagsOf({
    task,
    change: row.change as FileChange[],
    outcome,
    hiddenTests: await hiddenTests(task, environment),
    claim: last?.content ?? "",
  });
}

async function hiddenTests(
  { hiddenFiles, verifier }: Task,
  { root }: Pick<PreparedEnvironment, "root">,
): Promise<string[]> {
  const brought = (verifier?.files ?? []).flatMap((file) =>
    file.kind === "write" && file.encoding === "utf8" ? [file.content] : [],
  );
  // A hidden file may be one that the verifier brings alone.
  const own = hiddenFiles.map((path) => readFile(join(root, path), "utf8").catch(() => ""));
  return [...brought, ...(await Promise.all(own))];
}
