/** The admitted tasks of an experiment (the others where none was) with all that is known of each, as many as a report has room for. */
import type { PooledTask } from "../../core/pool.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { showTask, type TaskDetail } from "./details.ts";
import { ArtifactError } from "./errors.ts";
import type { IterationRow } from "./experiments.ts";
import { type PinnedPool, pooledTasks, validTasks } from "./pools.ts";
import type { Executor } from "./rows.ts";

/** A page of each has some 10 KB; a report should open at once. */
const MOST = 100;

export interface ReportTask {
  /** The first that admitted it, or tried it where none did. */
  readonly iteration: number;
  readonly level: number;
  /** Of this experiment alone. */
  readonly detail: TaskDetail;
}

export interface ReportTasks {
  readonly experiment: string;
  /** False = none was admitted: these were tried, and dropped. */
  readonly admitted: boolean;
  /** In the order in which they were admitted. */
  readonly shown: readonly ReportTask[];
  readonly total: number;
}

/** Of every iteration the same share is shown. Tasks whose artifacts are gone count, and are not shown. */
export async function reportTasks(
  db: Executor,
  artifacts: ArtifactStore,
  experiment: string,
  tries: readonly IterationRow[],
): Promise<ReportTasks> {
  const admitted = await firstOf(tries, (row) => pooledTasks(db, row));
  const all = [...(admitted.size > 0 ? admitted : await firstOf(tries, (row) => validTasks(db, row)))];
  const chosen = all.filter((_, index) => index % Math.ceil(all.length / MOST) === 0);
  const shown: ReportTask[] = [];
  for (const [id, of] of chosen) {
    try {
      shown.push({ ...of, detail: within(experiment, await showTask(db, artifacts, id)) });
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
    }
  }
  return { experiment, admitted: admitted.size > 0, shown, total: all.length };
}

async function firstOf(
  tries: readonly IterationRow[],
  tasksOf: (row: IterationRow) => Promise<readonly Pick<PooledTask, "taskId" | "level">[]>,
): Promise<Map<string, Omit<ReportTask, "detail">>> {
  const found = new Map<string, Omit<ReportTask, "detail">>();
  for (const row of tries) {
    const { startLevel } = (row.pinned as PinnedPool).settings.synthesis;
    for (const { taskId, level } of await tasksOf(row))
      if (!found.has(taskId)) found.set(taskId, { iteration: row.iteration, level: level ?? startLevel });
  }
  return found;
}

function within(experiment: string, detail: TaskDetail): TaskDetail {
  const own = ({ scope }: { readonly scope: string }) => scope.startsWith(`${experiment}/`);
  return {
    ...detail,
    validations: detail.validations.filter(own),
    probes: detail.probes.filter(own),
    lineage: detail.lineage.filter(own),
  };
}
