/** Makes a task of what was imported, once its environment's tree is there: edits become whole files, or do not fit. */
import { createHash } from "node:crypto";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, Statement, Task } from "../../core/task.ts";
import { encode } from "../sandbox/index.ts";
import { taskId } from "../synthesis/index.ts";
import { applyDiff, DiffError, parseDiff, pathsOf, reverseDiff, type TreeFile } from "./diff/index.ts";
import { LayeredTree } from "./tree-files.ts";
import { ImportError, type ImportedTask, type TreeEdit } from "./types.ts";

type ScriptEdit = TreeEdit & { readonly kind: "script" };

export interface ResolveContext {
  /** Key of the prepared environment. */
  readonly environment: string;
  /** Host folder with its tree. */
  readonly root: string;
  /** Runs a script in the environment's box, on the tree with `base` in it; what it changes. Needed where an edit is one. */
  readonly runScript?: (edit: ScriptEdit, base: readonly FileChange[]) => Promise<readonly FileChange[]>;
}

export interface ResolvedTask {
  readonly task: Task;
  readonly statement: Statement;
}

/** Throws ImportError `apply`, naming the field, the file in the tree and the hunk; `unsupported` for a script that nothing runs. */
export async function resolveTask(imported: ImportedTask, context: ResolveContext): Promise<ResolvedTask> {
  let base: FileChange[] = [];
  for (const edit of imported.base)
    base = composeChanges(base, await changesOf(imported, edit, base, context));
  const gold = imported.gold === null ? [] : await changesOf(imported, imported.gold, base, context);
  let judged = base;
  for (const edit of imported.tests)
    judged = composeChanges(judged, await changesOf(imported, edit, judged, context));
  const before = new LayeredTree(context.root, base);
  const draft: Omit<Task, "id" | "facts"> = {
    environment: context.environment,
    type: imported.type,
    generator: "import",
    base,
    gold,
    hiddenFiles: imported.hiddenFiles.filter((path) => before.read(path) !== undefined),
    failToPass: imported.failToPass,
    passToPass: imported.passToPass,
    functions: gold.map(({ path }) => `${imported.origin.id}#${path}#`),
    verifier: {
      ...imported.verifier,
      files: [...verifierFiles(imported, judged, base, context.root), ...imported.verifier.files],
    },
  };
  const id = taskId(draft);
  const { level, text } = imported.statement;
  return {
    task: { id, ...draft, facts: { sites: [], reproduction: null } },
    statement: { taskId: id, level, text, hash: createHash("sha256").update(text).digest("hex") },
  };
}

/** What the verifier puts into the tree: what its tests' edits change, and the files that judge as they are then. */
function verifierFiles(
  imported: ImportedTask,
  judged: readonly FileChange[],
  base: readonly FileChange[],
  root: string,
): FileChange[] {
  const own = judged.filter((change) => !base.includes(change));
  const tree = new LayeredTree(root, judged);
  const kept = (imported.testFiles ?? [])
    .filter((path) => !own.some((change) => change.path === path))
    .flatMap((path) => {
      const file = tree.read(path);
      return file === undefined ? [] : [changeTo(path, file)];
    });
  return composeChanges(own, kept);
}

const changeTo = (path: string, file: TreeFile): FileChange =>
  file.kind === "symlink"
    ? { kind: "symlink", path, target: file.target }
    : { kind: "write", path, ...encode(file.bytes), ...(file.executable && { executable: true }) };

async function changesOf(
  imported: ImportedTask,
  edit: TreeEdit,
  base: readonly FileChange[],
  { root, runScript }: ResolveContext,
): Promise<readonly FileChange[]> {
  const at = { ...imported.origin, field: edit.field };
  const tree = new LayeredTree(root, base);
  if (edit.kind === "changes") return edit.changes.map((change) => keepMode(change, tree));
  if (edit.kind === "script") {
    if (runScript === undefined)
      throw new ImportError("unsupported", at, "a sandbox runtime to run the script in", "none");
    return runScript(edit, base);
  }
  try {
    const read = parseDiff(edit.text);
    const patches = edit.reverse ? reverseDiff(read) : read;
    return applyDiff(tree.readAll(pathsOf(patches)), patches);
  } catch (error) {
    if (!(error instanceof DiffError)) throw error;
    throw new ImportError("apply", at, "a diff that fits the environment's tree", error.message, {
      cause: error,
    });
  }
}

/** A source of whole texts does not say their modes: a file that is there keeps its own. */
function keepMode(change: FileChange, tree: LayeredTree): FileChange {
  if (change.kind !== "write" || change.executable !== undefined) return change;
  const file = tree.read(change.path);
  return file?.kind === "file" && file.executable ? { ...change, executable: true } : change;
}
