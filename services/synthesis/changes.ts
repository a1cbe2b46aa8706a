/** Whole-file changes of a tree, and the identities made of them: candidate keys and task ids. */
import { createHash } from "node:crypto";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, Task, TaskFacts } from "../../core/task.ts";
import { contentOf } from "../sandbox/index.ts";
import type { Candidate } from "./types.ts";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function writeText(path: string, content: string): FileChange {
  return { kind: "write", path, content, encoding: "utf8" };
}

/** The new text of each file that a change writes. */
export function textsOf(changes: readonly FileChange[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const change of changes)
    if (change.kind === "write") {
      texts.set(change.path, contentOf(change).toString("utf8"));
    }
  return texts;
}

function canonical(changes: readonly FileChange[]): unknown {
  return composeChanges(changes, []).map((change) => {
    if (change.kind === "write") return ["write", change.path, contentOf(change).toString("base64")];
    return change.kind === "symlink" ? ["symlink", change.path, change.target] : ["delete", change.path];
  });
}

/**
 * Same base tree of the same package, same key, however it was generated: duplicates are dropped by it. Where gold does not lead back to the snapshot,
 * because the candidate brings tests or a check of its own, gold is part of it: many such candidates begin with the snapshot as it is. 32 hex digits.
 */
export function candidateKey(candidate: Candidate): string {
  const packages = [...new Set(candidate.functions.map((key) => key.split("#")[0]))].sort();
  const { commit } = candidate.origin ?? {};
  const brings = candidate.tests !== undefined || candidate.check !== undefined;
  const fields = [
    packages,
    canonical(candidate.base),
    ...(brings ? [canonical(candidate.gold)] : []),
    ...(commit === undefined ? [] : [commit.sha]),
  ];
  return sha256(JSON.stringify(fields)).slice(0, 32);
}

/** `t` + 16 hex digits of the hash of everything, of the facts only the authored text. */
export function taskId(
  task: Omit<Task, "id" | "facts"> & { readonly facts?: Pick<TaskFacts, "text"> },
): string {
  const { environment, type, generator, base, gold, hiddenFiles, failToPass, passToPass, functions } = task;
  const fields: unknown[] = [environment, type, generator, base, gold, hiddenFiles, failToPass, passToPass];
  fields.push(functions);
  // Absent from the ids of tasks that their environment's tests judge, or that are worded from their sites.
  if (task.verifier !== undefined) fields.push(task.verifier);
  if (task.facts?.text !== undefined) fields.push(task.facts.text);
  return `t${sha256(JSON.stringify(fields)).slice(0, 16)}`;
}
