/** Tasks by their ids, kept in memory once loaded, and the tree that an agent gets of one. */
import type { ArtifactRef } from "../core/artifact.ts";
import type { FileChange, Task } from "../core/task.ts";
import { taskHash } from "../services/grading/index.ts";
import {
  type ArtifactStore,
  getJson,
  getTask,
  StoreError,
  validationEvidence,
} from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";

/** Tasks kept: an iteration's pool and the evaluation sets of the paper's scale fit. */
const KEPT = 1000;

/** Per record: services are put together anew for every activity. */
const loaded = new WeakMap<ArtifactStore, Map<string, Promise<Task>>>();

export function loadTask(services: RecordServices, id: string): Promise<Task> {
  const cache = loaded.get(services.artifacts) ?? new Map<string, Promise<Task>>();
  loaded.set(services.artifacts, cache);
  const known = cache.get(id);
  if (known !== undefined) return known;
  const task = load(services, id);
  task.catch(() => cache.delete(id));
  if (cache.size >= KEPT) cache.delete(cache.keys().next().value!);
  cache.set(id, task);
  return task;
}

/** Throws StoreError `conflict` where the task is no longer, to the byte, the one that was validated. */
async function load({ db, artifacts }: RecordServices, id: string): Promise<Task> {
  const row = await getTask(db, id);
  const task = await getJson<Task>(artifacts, row.artifact as ArtifactRef);
  const validated = await validationEvidence(db, id);
  if (validated.length > 0 && !validated.some((evidence) => evidence.task === taskHash(task)))
    throw new StoreError(
      "conflict",
      `task ${id} was changed after it was validated: no validation holds for it`,
    );
  return task;
}

/** The tree an agent starts from: the task's base without its hidden tests. */
export function agentOverlay(task: Task): FileChange[] {
  return [...task.base, ...task.hiddenFiles.map((path): FileChange => ({ kind: "delete", path }))];
}
