/** Verdicts looked at again: saved changes graded anew, cold, on this host, without running an agent. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { FileChange, Task, Verdict } from "../../core/task.ts";
import { hostOptions } from "../../infra/stack/index.ts";
import {
  EnvironmentError,
  loadEnvironment,
  type PreparedEnvironment,
  runtimeFolder,
} from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createRuntime, SandboxError } from "../../services/sandbox/index.ts";
import {
  ArtifactError,
  type ArtifactStore,
  alone,
  type Db,
  findRollout,
  type GradedRow,
  getExperiment,
  getJson,
  getTask,
  listGraded,
  nextRegrade,
  recordRegrade,
} from "../../services/store/index.ts";

export interface RegradeRequest {
  readonly experiment: string;
  /** null = all, evaluations included. */
  readonly iteration: number | null;
  /** Nothing is recorded. */
  readonly dryRun: boolean;
  /** Gradings at a time. */
  readonly concurrency: number;
  readonly onProgress?: (progress: RegradeProgress) => void;
  readonly signal?: AbortSignal;
}

export interface RegradeProgress {
  readonly done: number;
  readonly total: number;
  readonly changed: number;
}

type Found = Pick<Verdict, "outcome" | "rule" | "offending">;

export interface ChangedVerdict {
  readonly rollout: string;
  readonly iteration: number;
  readonly task: string;
  readonly was: Pick<GradedRow, "outcome" | "rule">;
  readonly now: Found;
  /** The task is not the one that the verdict on record rests on. */
  readonly otherTask: boolean;
}

export interface RegradeReport {
  readonly experiment: string;
  /** Number of this regrade of the experiment, from 1; null where nothing was recorded. */
  readonly regrade: number | null;
  readonly graded: number;
  /** In the order of the rollouts' keys. */
  readonly changed: readonly ChangedVerdict[];
  /** Rollouts that no verdict was reached on, and why. */
  readonly lost: readonly { readonly rollout: string; readonly reason: string }[];
}

export interface RegradeParts {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
  readonly grading: GradingService;
  environment(key: string): Promise<PreparedEnvironment>;
}

/** Grades in the runtime that the experiment's settings name. Throws StoreError `missing`, SandboxError `unavailable`. */
export async function regrade(
  session: {
    readonly db: Db;
    readonly artifacts: ArtifactStore;
    readonly stack: { readonly dataFolder: string };
  },
  request: RegradeRequest,
): Promise<RegradeReport> {
  const { db, artifacts, stack } = session;
  const { settings } = await getExperiment(db, request.experiment);
  const name = (settings as ExperimentSettings).sandbox.runtime;
  const { dataFolder } = stack;
  const runtime = createRuntime(name, hostOptions(dataFolder));
  const reason = await runtime.unavailable();
  if (reason !== null) throw new SandboxError("unavailable", reason);
  const grading = createGrading({ runtime });
  const folder = runtimeFolder(dataFolder, name);
  try {
    const environment = (key: string) => loadEnvironment(folder, key);
    return await regradeAll({ db, artifacts, grading, environment }, request);
  } finally {
    await grading.close();
  }
}

/** What `regrade` does, with given services. Equal trees of one task are graded once. Throws StoreError `conflict` while another one is recorded. */
export function regradeAll(parts: RegradeParts, request: RegradeRequest): Promise<RegradeReport> {
  const run = () => gradeAgain(parts, request);
  return request.dryRun ? run() : alone(parts.db, request.experiment, run);
}

async function gradeAgain(parts: RegradeParts, request: RegradeRequest): Promise<RegradeReport> {
  const { experiment, iteration, dryRun, onProgress, signal } = request;
  const rows = await listGraded(parts.db, experiment, iteration);
  const number = dryRun ? null : await nextRegrade(parts.db, experiment);
  const grade = grader(parts, signal);
  const changed = new Map<string, ChangedVerdict>();
  const lost = new Map<string, string>();
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let at = next++; at < rows.length; at = next++) {
      signal?.throwIfAborted();
      const was = rows[at]!;
      const found = await grade(was);
      if (typeof found === "string") lost.set(was.key, found);
      else {
        const { verdict, otherTask } = found;
        if (number !== null)
          await recordRegrade(parts.db, { experiment, regrade: number, was, now: verdict });
        if (differs(was, verdict)) changed.set(was.key, changeOf(was, verdict, otherTask));
      }
      onProgress?.({ done: ++done, total: rows.length, changed: changed.size });
    }
  };
  await Promise.all(Array.from({ length: request.concurrency }, work));
  return {
    experiment,
    regrade: rows.length === 0 ? null : number,
    graded: rows.length - lost.size,
    changed: rows.flatMap(({ key }) => changed.get(key) ?? []),
    lost: rows.flatMap(({ key }) => (lost.has(key) ? [{ rollout: key, reason: lost.get(key)! }] : [])),
  };
}

/** Loads what each grading needs, tasks and environments once; a text says why there is no verdict. */
function grader({ db, artifacts, grading, environment }: RegradeParts, signal: AbortSignal | undefined) {
  const tasks = new Map<string, Promise<Task>>();
  const environments = new Map<string, Promise<PreparedEnvironment>>();
  const taskOf = async (id: string) =>
    getJson<Task>(artifacts, (await getTask(db, id)).artifact as ArtifactRef);
  return async (row: GradedRow): Promise<{ verdict: Verdict; otherTask: boolean } | string> => {
    const rollout = (await findRollout(db, row.key))!;
    try {
      const task = await once(tasks, row.taskId, taskOf);
      const verdict = await grading.grade({
        environment: await once(environments, task.environment, environment),
        task,
        change: rollout.change as FileChange[],
        mode: "cold",
        reuse: true,
        ...(signal && { signal }),
      });
      if (verdict.outcome === "infrastructure") return verdict.offending.join("; ");
      const before = rollout.evidence as Verdict["evidence"] | null;
      return { verdict, otherTask: before !== null && before.task !== verdict.evidence.task };
    } catch (error) {
      // What one verdict needs may be gone; the others are still to be had.
      if (error instanceof EnvironmentError || error instanceof ArtifactError) return error.message;
      throw error;
    }
  };
}

function once<T>(known: Map<string, Promise<T>>, key: string, make: (key: string) => Promise<T>): Promise<T> {
  const found = known.get(key) ?? make(key);
  known.set(key, found);
  return found;
}

/** Which of two limits ended a run that met both is decided by the machine. */
const LIMITS: ReadonlySet<string> = new Set(["timeout", "killed"]);

const differs = (was: Pick<GradedRow, "outcome" | "rule">, now: Found): boolean =>
  was.outcome !== now.outcome || (was.rule !== now.rule && !(LIMITS.has(was.rule) && LIMITS.has(now.rule)));

const changeOf = (
  { key, iteration, taskId, outcome, rule }: GradedRow,
  { outcome: newOutcome, rule: newRule, offending }: Verdict,
  otherTask: boolean,
): ChangedVerdict => ({
  rollout: key,
  iteration,
  task: taskId,
  was: { outcome, rule },
  now: { outcome: newOutcome, rule: newRule, offending },
  otherTask,
});
