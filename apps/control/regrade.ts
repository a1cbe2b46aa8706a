/** Verdicts looked at again: saved changes graded anew, cold, on this host, without running an agent. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Evidence, FileChange, Task, Verdict } from "../../core/task.ts";
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
  endRegrade,
  findRollout,
  type GradedRow,
  getExperiment,
  getJson,
  getTask,
  listGraded,
  listRegradeRuns,
  listRegrades,
  openRegrade,
  type RegradeRun,
  recordRegrade,
} from "../../services/store/index.ts";
import { codeVersion } from "./checks.ts";

export type { RegradeRun };

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
  /** What was graded before a cut counts. */
  readonly done: number;
  readonly total: number;
  readonly changed: number;
}

type Found = Pick<Verdict, "outcome" | "rule" | "offending">;

/** A verdict reached again. */
interface Seen<V extends Found = Found> {
  readonly now: V;
  readonly otherTask: boolean;
}

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
  /** Verdicts on record in its scope. */
  readonly total: number;
  readonly graded: number;
  /** Of those, graded before it was cut half way: it went on with the rest. */
  readonly before: number;
  /** In the order of the rollouts' keys. */
  readonly changed: readonly ChangedVerdict[];
  /** Rollouts that no verdict was reached on, and why. */
  readonly lost: readonly { readonly rollout: string; readonly reason: string }[];
}

export interface RegradeParts {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
  readonly grading: GradingService;
  /** A regrade is gone on with by the code that began it alone. */
  readonly codeVersion: string;
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
    const parts = { db, artifacts, grading, environment, codeVersion: await codeVersion() };
    return await regradeAll(parts, request);
  } finally {
    await grading.close();
  }
}

/** The regrades of an experiment, those that were cut half way among them. Throws StoreError `missing`. */
export async function listExperimentRegrades(
  { db }: { readonly db: Db },
  experiment: string,
): Promise<readonly RegradeRun[]> {
  await getExperiment(db, experiment);
  return listRegradeRuns(db, experiment);
}

/**
 * What `regrade` does, with given services. Equal trees of one task are graded once; one that was cut half way is gone on with. Throws StoreError
 * `conflict` while another one is recorded.
 */
export function regradeAll(parts: RegradeParts, request: RegradeRequest): Promise<RegradeReport> {
  const run = () => gradeAgain(parts, request);
  return request.dryRun ? run() : alone(parts.db, request.experiment, run);
}

async function gradeAgain(parts: RegradeParts, request: RegradeRequest): Promise<RegradeReport> {
  const { experiment, iteration, dryRun, onProgress, signal } = request;
  const { db, codeVersion } = parts;
  const rows = await listGraded(db, experiment, iteration);
  const total = rows.length;
  const isRecorded = !dryRun && total > 0;
  const number = isRecorded ? await openRegrade(db, { experiment, iteration, codeVersion, total }) : null;
  const seen = number === null ? new Map<string, Seen>() : await seenBefore(db, experiment, number);
  const isChanged = (row: GradedRow) => seen.has(row.key) && differs(row, seen.get(row.key)!.now);
  const todo = rows.filter(({ key }) => !seen.has(key));
  const before = total - todo.length;
  const grade = grader(parts, signal);
  const lost = new Map<string, string>();
  let next = 0;
  let changed = rows.filter(isChanged).length;
  const work = async () => {
    for (let at = next++; at < todo.length; at = next++) {
      signal?.throwIfAborted();
      const was = todo[at]!;
      const found = await grade(was);
      if (typeof found === "string") lost.set(was.key, found);
      else {
        if (number !== null) await recordRegrade(db, { experiment, regrade: number, was, now: found.now });
        seen.set(was.key, found);
        if (isChanged(was)) changed++;
      }
      onProgress?.({ done: seen.size + lost.size, total, changed });
    }
  };
  await Promise.all(Array.from({ length: request.concurrency }, work));
  if (number !== null) await endRegrade(db, experiment, number);
  return {
    ...{ experiment, regrade: number, total, graded: total - lost.size, before },
    changed: rows.filter(isChanged).map((row) => changeOf(row, seen.get(row.key)!)),
    lost: rows.flatMap(({ key }) => (lost.has(key) ? [{ rollout: key, reason: lost.get(key)! }] : [])),
  };
}

/** What was found before the regrade was cut half way, by rollout. */
async function seenBefore(db: Db, experiment: string, regrade: number): Promise<Map<string, Seen>> {
  const rows = await listRegrades(db, experiment, regrade);
  const entries = rows.map(async (row): Promise<[string, Seen]> => {
    const { evidence } = (await findRollout(db, row.rollout_key))!;
    const now = { outcome: row.outcome, rule: row.rule, offending: row.offending } as Found;
    return [row.rollout_key, { now, otherTask: isOtherTask(evidence, row.evidence as Evidence) }];
  });
  return new Map(await Promise.all(entries));
}

/** Rollouts graded before evidence was kept have none. */
const isOtherTask = (before: unknown, now: Evidence): boolean =>
  before !== null && (before as Evidence).task !== now.task;

/** Loads what each grading needs, tasks and environments once; a text says why there is no verdict. */
function grader({ db, artifacts, grading, environment }: RegradeParts, signal: AbortSignal | undefined) {
  const tasks = new Map<string, Promise<Task>>();
  const environments = new Map<string, Promise<PreparedEnvironment>>();
  const taskOf = async (id: string) =>
    getJson<Task>(artifacts, (await getTask(db, id)).artifact as ArtifactRef);
  return async (row: GradedRow): Promise<Seen<Verdict> | string> => {
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
      return { now: verdict, otherTask: isOtherTask(rollout.evidence, verdict.evidence) };
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
  { now, otherTask }: Seen,
): ChangedVerdict => ({
  ...{ rollout: key, iteration, task: taskId },
  was: { outcome, rule },
  now: { outcome: now.outcome, rule: now.rule, offending: now.offending },
  otherTask,
});
