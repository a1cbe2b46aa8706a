/** The admitted tasks of an experiment with all that is known of each, as many as a report has room for. */
import type { ArtifactStore } from "./artifacts.ts";
import { showTask, type TaskDetail } from "./details.ts";
import { ArtifactError } from "./errors.ts";
import type { IterationRow } from "./experiments.ts";
import { type PinnedPool, pooledTasks } from "./pools.ts";
import type { Executor } from "./rows.ts";

/** A page of each has some 10 KB; a report should open at once. */
const MOST = 100;

export interface ReportTask {
  /** The first that admitted it. */
  readonly iteration: number;
  readonly level: number;
  /** Of this experiment alone. */
  readonly detail: TaskDetail;
}

export interface ReportTasks {
  readonly experiment: string;
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
  const admitted = new Map<string, Omit<ReportTask, "detail">>();
  for (const row of tries) {
    const { startLevel } = (row.pinned as PinnedPool).settings.synthesis;
    for (const { taskId, level } of await pooledTasks(db, row))
      if (!admitted.has(taskId))
        admitted.set(taskId, { iteration: row.iteration, level: level ?? startLevel });
  }
  const all = [...admitted];
  const chosen = all.filter((_, index) => index % Math.ceil(all.length / MOST) === 0);
  const shown: ReportTask[] = [];
  for (const [id, of] of chosen) {
    try {
      shown.push({ ...of, detail: within(experiment, await showTask(db, artifacts, id)) });
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
    }
  }
  return { experiment, shown, total: all.length };
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
