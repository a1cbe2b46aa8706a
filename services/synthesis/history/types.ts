/** A repository's commits, looked at as tasks: what each would be, or why it is none. */
import type { TaskType, TypeCheck } from "../../../core/task.ts";
import type { Commit } from "../../environments/index.ts";
import type { PathRole } from "./paths.ts";

/** Why a commit makes no task, in the order in which it is asked. */
export const SKIPS = {
  merge: "it joins branches",
  root: "it has no parent",
  revert: "it takes another commit back",
  reverted: "a later commit takes it back",
  "no-source": "it changes documents, settings or built files alone",
  "tests-only": "it changes tests alone",
  generated: "what it changes was made by a machine",
  "too-many-files": "it changes more source files than synthesis.history.maxFiles",
  "too-many-lines": "it changes more source lines than synthesis.history.maxLines",
  "formatting-only": "its sources are the same program before and after",
  "no-tests": "no test changes with it, and nothing else could judge it",
  "no-workload": "it says that it is faster, and the repository has no benchmark that could tell",
} as const;
export type Skip = keyof typeof SKIPS;

/** One file that a commit changes; "" = it is not there. */
export interface ChangedFile {
  readonly path: string;
  readonly role: PathRole;
  readonly before: string;
  readonly after: string;
}

export interface ChangedFunction {
  readonly file: string;
  readonly name: string;
  /** Of the text before the commit, 1-based; null for one that it adds. */
  readonly line: number | null;
}

/** A commit that is a task once the gates have passed it. */
export interface Usable {
  readonly type: TaskType;
  readonly check: TypeCheck | null;
  /** Sources, data beside them, and the manifest where the change needs it. */
  readonly sources: readonly ChangedFile[];
  readonly tests: readonly ChangedFile[];
  /** All that differs; at least one. */
  readonly functions: readonly ChangedFunction[];
}

export interface Surveyed {
  readonly commit: Commit;
  /** Of its sources. */
  readonly files: number;
  readonly lines: number;
  readonly outcome: { readonly skip: Skip } | { readonly usable: Usable };
}
