/** Tasks that are none: what is wrong with each, and the gate that has to stop it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../../core/task.ts";
import type { PreparedEnvironment } from "../../../services/environments/index.ts";
import { writeText as file, textsOf } from "../../../services/synthesis/changes.ts";
import type { Candidate, GateName } from "../../../services/synthesis/index.ts";
import { type Authored, candidateOf, changesOf, type Edit } from "../authored/index.ts";

/** A change of the package that its own tests judge, as the generators of mutations make it. */
export interface Broken {
  readonly environment: string;
  readonly base: readonly Edit[];
  /** Absent = what restores the snapshot. */
  readonly gold?: readonly Edit[];
  /** Of a combination: each change alone. */
  readonly parts?: readonly (readonly Edit[])[];
  readonly functionName?: string;
}

export interface Faulty {
  readonly name: string;
  readonly wrong: string;
  readonly gate: GateName;
  /** Stopped by a limit of wall time, so only the bench tries it. */
  readonly slow?: true;
  readonly task: Authored | Broken;
}

function brokenCandidate(environment: PreparedEnvironment, task: Broken): Candidate {
  const base = changesOf(environment, task.base);
  const path = task.base[0]!.path;
  const functionName = task.functionName ?? "camelCase";
  const site = { file: path, functionName, line: 1, operator: "constant" };
  return {
    type: "bug",
    generator: task.parts ? "combination" : "mutation",
    base,
    gold: task.gold ? changesOf(environment, task.gold, base) : restored(environment, base),
    sites: task.parts ? task.parts.map(() => site) : [site],
    functions: [`${task.environment}#${path}#${functionName}`],
    ...(task.parts && { parts: task.parts.map((part) => changesOf(environment, part)) }),
  };
}

/** The snapshot's own texts of what the change writes; what it adds goes. */
function restored({ root }: PreparedEnvironment, base: readonly FileChange[]): FileChange[] {
  return [...textsOf(base).keys()].map((path): FileChange => {
    const known = join(root, path);
    return existsSync(known) ? file(path, readFileSync(known, "utf8")) : { kind: "delete", path };
  });
}

export function candidateOfFaulty(environment: PreparedEnvironment, { task }: Faulty): Candidate {
  return "text" in task ? candidateOf(environment, task) : brokenCandidate(environment, task);
}
