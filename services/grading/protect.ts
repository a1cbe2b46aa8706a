/** Which paths of a tree belong to the grader, and how they are put back. Pure. */
import type { FileChange, TestCommand, Verifier } from "../../core/task.ts";
import type { CatalogueEntry, PreparedEnvironment } from "../environments/types.ts";
import type { SandboxSpec } from "../sandbox/index.ts";
import { isProtected, type Protection } from "./protected-paths.ts";
import { splitFiles, workdirOf } from "./verifier-files.ts";

/**
 * Folders and files that are mounted read-only over the graded tree: of each test, the topmost folder in which no source lies, the test alone
 * where there is none, or where it is not known what a source is. A mounted folder hides whatever the change put there, and cannot be written by what is tested.
 */
export function testMounts({ sources, tests }: Pick<CatalogueEntry, "sources" | "tests">): readonly string[] {
  const holdsSource = (folder: string) =>
    sources.length === 0 || sources.some((source) => source.startsWith(`${folder}/`));
  const paths = tests.map((test) => {
    const parts = test.split("/").slice(0, -1);
    const folders = parts.map((_, depth) => parts.slice(0, depth + 1).join("/"));
    return folders.find((folder) => !holdsSource(folder)) ?? test;
  });
  return [...new Set(paths)].sort();
}

/** By whom a change is judged, as far as it says what the change may not decide. */
export interface Judge {
  readonly environment: Pick<PreparedEnvironment, "entry" | "commands" | "image">;
  readonly task?: {
    readonly gold: readonly FileChange[];
    readonly hiddenFiles: readonly string[];
    readonly verifier?: Verifier;
  };
}

/** Tests, what steers them, the verifier's files and reports; but what the reference solution changes is the task's business. */
export function protectionOf({ environment, task }: Judge): Protection {
  const verifier = task?.verifier;
  const commands = [...environment.commands, ...(verifier?.commands ?? [])];
  return {
    roots: [
      ...testMounts(environment.entry),
      ...(task?.hiddenFiles ?? []),
      ...splitFiles(verifier?.files ?? [], environment).inTree.map(({ path }) => path),
      ...reportsInTree(commands, environment),
    ],
    allowed: new Set(task?.gold.map(({ path }) => path)),
    formats: new Set(commands.map(({ format }) => format)),
  };
}

/** A change without what it may not decide. */
export function withoutProtected(change: readonly FileChange[], judge: Judge): FileChange[] {
  const protection = protectionOf(judge);
  return change.filter(({ path }) => !isProtected(path, protection));
}

function reportsInTree(commands: readonly TestCommand[], environment: Judge["environment"]): string[] {
  const prefix = `${workdirOf(environment)}/`;
  return commands.flatMap(({ reportFile }) => {
    if (reportFile === null) return [];
    if (!reportFile.startsWith("/")) return [reportFile];
    return reportFile.startsWith(prefix) ? [reportFile.slice(prefix.length)] : [];
  });
}

/** The read-only mounts of a test run. A verifier puts its own tests into the tree, where a mount would be in its way. */
export function mountsOf(
  environment: Pick<PreparedEnvironment, "root" | "mounts" | "entry" | "image">,
  verifier?: Verifier,
): SandboxSpec["mounts"] {
  if (verifier !== undefined) return environment.mounts;
  return [
    ...environment.mounts,
    ...testMounts(environment.entry).map((path) => ({
      source: `${environment.root}/${path}`,
      target: `${workdirOf(environment)}/${path}`,
    })),
  ];
}
