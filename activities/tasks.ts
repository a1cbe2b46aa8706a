/** Tasks by their ids, kept in memory once loaded, and the tree that an agent gets of one. */
import type { ArtifactRef } from "../core/artifact.ts";
import type { FileChange, Task } from "../core/task.ts";
import { getJson, getTask } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";

/** Tasks kept: an iteration's pool and the evaluation sets of the paper's scale fit. */
const KEPT = 1000;

const loaded = new WeakMap<RecordServices, Map<string, Promise<Task>>>();

export function loadTask(services: RecordServices, id: string): Promise<Task> {
  const cache = loaded.get(services) ?? new Map<string, Promise<Task>>();
  loaded.set(services, cache);
  const known = cache.get(id);
  if (known !== undefined) return known;
  const task = getTask(services.db, id).then((row) =>
    getJson<Task>(services.artifacts, row.artifact as ArtifactRef),
  );
  task.catch(() => cache.delete(id));
  if (cache.size >= KEPT) cache.delete(cache.keys().next().value!);
  cache.set(id, task);
  return task;
}

/** The tree an agent starts from: the task's base without its hidden tests. */
export function agentOverlay(task: Task): FileChange[] {
  return [...task.base, ...task.hiddenFiles.map((path): FileChange => ({ kind: "delete", path }))];
}
