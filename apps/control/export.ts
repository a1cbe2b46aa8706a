/** Tasks and trajectories of an experiment, written as other projects read them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactRef } from "../../core/artifact.ts";
import { type ExperimentSettings, GREEDY } from "../../core/experiment.ts";
import type { Task } from "../../core/task.ts";
import type { Sampling, Trajectory } from "../../core/trajectory.ts";
import {
  loadEnvironment,
  type PreparedEnvironment,
  runtimeFolder,
} from "../../services/environments/index.ts";
import {
  atifTrajectory,
  defaultImage,
  ExportError,
  type ExportMarker,
  type HarborNetwork,
  harborFolder,
  writeExport,
  writeFiles,
} from "../../services/formats/index.ts";
import { HARNESS_VERSION, TOOL_DEFINITIONS } from "../../services/harness/index.ts";
import {
  admittedTasks,
  type ExperimentRollout,
  experimentRollouts,
  getExperiment,
  getJson,
  getStatement,
  getTask,
} from "../../services/store/index.ts";
import type { Session } from "./session.ts";

export type { ExportMarker } from "../../services/formats/index.ts";

export interface ExportRequest {
  readonly experiment: string;
  /** Folder that the export becomes. */
  readonly out: string;
  /** At most so many tasks or rollouts. */
  readonly limit?: number;
  readonly onProgress?: (done: number) => void;
}

type ExportSession = Pick<Session, "db" | "artifacts" | "stack">;

export interface HarborRequest extends ExportRequest {
  /** Base of every box instead of the environment's default. */
  readonly image?: string;
  /** What boxes may reach. */
  readonly network: HarborNetwork;
}

/**
 * Admitted tasks as Harbor folders; a task that the format cannot say is skipped with its reason. Throws StoreError `missing`, ExportError,
 * EnvironmentError, ArtifactError.
 */
export async function exportHarbor(
  { db, artifacts, stack }: ExportSession,
  { experiment, out, limit = Number.POSITIVE_INFINITY, onProgress, image, network }: HarborRequest,
): Promise<ExportMarker> {
  const settings = (await getExperiment(db, experiment)).settings as ExperimentSettings;
  const dataFolder = runtimeFolder(stack.dataFolder, settings.sandbox.runtime);
  const admitted = (await admittedTasks(db, experiment)).slice(0, limit);
  const environments = new Map<string, Promise<PreparedEnvironment>>();
  const environmentOf = (key: string): Promise<PreparedEnvironment> => {
    const loaded = environments.get(key) ?? loadEnvironment(dataFolder, key);
    environments.set(key, loaded);
    return loaded;
  };
  return writeExport(out, async (folder) => {
    const exported: string[] = [];
    const skipped: { id: string; reason: string }[] = [];
    for (const { taskId, level } of admitted) {
      const task = await getJson<Task>(artifacts, (await getTask(db, taskId)).artifact as ArtifactRef);
      try {
        const environment = await environmentOf(task.environment);
        const statement = await getStatement(db, taskId, level);
        const base = image ?? defaultImage(environment);
        await writeFiles(
          join(folder, taskId),
          await harborFolder({ task, statement, environment, image: base, network }),
        );
        exported.push(taskId);
      } catch (error) {
        if (!(error instanceof ExportError)) throw error;
        skipped.push({ id: taskId, reason: error.message });
      }
      onProgress?.(exported.length + skipped.length);
    }
    return { format: "harbor", experiment, exported, skipped };
  });
}

/** Accepted rollouts as ATIF files, one each. Throws StoreError `missing`, ExportError `input`, ArtifactError. */
export async function exportAtif(
  { db, artifacts }: ExportSession,
  { experiment, out, limit = Number.POSITIVE_INFINITY, onProgress }: ExportRequest,
): Promise<ExportMarker> {
  const settings = (await getExperiment(db, experiment)).settings as ExperimentSettings;
  const agent = { name: "tadpole-leaf", version: HARNESS_VERSION, tools: TOOL_DEFINITIONS };
  return writeExport(out, async (folder) => {
    const exported: string[] = [];
    for await (const row of experimentRollouts(db, experiment)) {
      if (exported.length >= limit) break;
      const trajectory = await getJson<Trajectory>(artifacts, row.trajectory as ArtifactRef);
      const name = `${row.key.replaceAll("/", ".")}.json`;
      const atif = atifTrajectory(trajectory, factsOf(row, experiment, settings), agent);
      await writeFile(join(folder, name), `${JSON.stringify(atif)}\n`);
      exported.push(name);
      onProgress?.(exported.length);
    }
    return { format: "atif", experiment, exported, skipped: [] };
  });
}

function factsOf(row: ExperimentRollout, experiment: string, settings: ExperimentSettings) {
  return {
    key: row.key,
    experiment,
    iteration: row.iteration,
    try: row.try,
    phase: row.phase,
    group: row.group_key,
    member: row.member,
    taskId: row.task_id,
    level: row.level,
    policy: row.policy,
    sampling: samplingOf(row, settings),
    truncated: row.truncated,
    outcome: row.outcome,
    rule: row.rule,
    rawReward: row.raw_reward,
    reward: row.reward,
    treeHash: row.tree_hash,
  };
}

/** As the experiment's settings have it; an evaluation that was asked for by itself had its own, which are not on record. */
function samplingOf(
  { phase, group_key: key }: ExperimentRollout,
  settings: ExperimentSettings,
): Sampling | null {
  if (phase === null) return null;
  if (phase !== "evaluate") return settings.rollout.sampling;
  const mode = key.split("/eval/")[1]?.split("/")[1];
  if (mode === "greedy") return GREEDY;
  return mode?.startsWith("temperature-") === true ? null : settings.evaluation.sampling;
}
