/** What a verdict rests on, by hashes: where one of them is another, the verdict is no evidence any more. Pure. */
import type { Evidence, Task } from "../../core/task.ts";
import { hashJson } from "../hashing/index.ts";

/** Raised whenever the same run would be judged otherwise: composing, protection, limits, parsing or deciding changed. */
export const RULES_VERSION = "4";

const hashes = new WeakMap<Task, string>();

/** sha256 (hex) of the whole task: its tree, solution, tests, verifier and facts. Any byte of them changes it. */
export function taskHash(task: Task): string {
  const known = hashes.get(task);
  if (known !== undefined) return known;
  const hash = hashJson(task);
  hashes.set(task, hash);
  return hash;
}

/** `tree` is the graded tree's hash, by `hashManifest`. */
export function evidenceOf(task: Task, tree: string): Evidence {
  return {
    task: taskHash(task),
    tree,
    environment: task.environment,
    verifier: task.verifier === undefined ? null : hashJson(task.verifier),
    rules: RULES_VERSION,
  };
}

/** Equal keys = the same verdict, as far as the tests are repeatable. */
export const evidenceKey = (evidence: Evidence): string => hashJson(evidence);
