/** The common form of imported tasks: what every dialect's importer makes of a row, before the task's environment is there. */
import type { ImportFormat } from "../../core/formats.ts";
import type {
  Collected,
  FileChange,
  ReportFormat,
  StatementLevel,
  TaskType,
  Verifier,
} from "../../core/task.ts";
import type { LimitOverrides } from "../environments/types.ts";

export { IMPORT_FORMATS, type ImportFormat } from "../../core/formats.ts";

/** Where a task was read. */
export interface ImportOrigin {
  readonly format: ImportFormat;
  /** The task's own name in its source (`instance_id`, Harbor's `org/name`). */
  readonly id: string;
  /** As the user gave it, or below the folder that the user gave. */
  readonly file: string;
  /** From 1; null where a file is one task. */
  readonly row: number | null;
  /** From 1, of the line the row begins in; null where rows have no lines (Parquet, a folder). */
  readonly line: number | null;
}

/** How a tree is changed, as the task's source says it: whole files are known only once the tree is there. */
export type TreeEdit =
  /** A unified diff as git writes it. `field` names it in errors. */
  | { readonly kind: "diff"; readonly field: string; readonly text: string; readonly reverse: boolean }
  | { readonly kind: "changes"; readonly field: string; readonly changes: readonly FileChange[] }
  /** A command that is run in the task's box once `files` (absolute paths) are written; the edit is what it changes in the tree. */
  | {
      readonly kind: "script";
      readonly field: string;
      readonly files: readonly FileChange[];
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly timeoutSeconds: number;
    };

/** What the box is made of. A context holds its files, so that a recorded task needs nothing beside it. */
export type ImageSource =
  /** As the task names it: maybe unpinned; pinned when the environment is prepared. */
  | { readonly kind: "image"; readonly reference: string }
  | {
      readonly kind: "build";
      readonly files: readonly FileChange[];
      readonly dockerfile: string;
      /** Of the whole build; absent = the preparation's own. */
      readonly timeoutSeconds?: number;
    };

export interface ImportedEnvironment {
  readonly image: ImageSource;
  /** Absolute path of the working tree; null = the image's own working folder. */
  readonly workdir: string | null;
  /** Variables of every command. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: LimitOverrides;
  /** null = the source does not say. */
  readonly cpus: number | null;
  /** What the source asks for. Boxes have no network whatever it says; importers note what that may cost. */
  readonly network: "none" | "public" | { readonly hosts: readonly string[] };
  /** Absolute paths of the image that only the verifier may see: taken out of the boxes, and put back for it. */
  readonly hidden?: readonly string[];
}

/** What becomes of a verifier's `box` once its image is there. */
export interface ImportedVerifierBox
  extends Pick<ImportedEnvironment, "image" | "workdir" | "env" | "limits">,
    Collected {}

/** Plain data: its JSON is the artifact that a record of an import points to. */
export interface ImportedTask {
  readonly origin: ImportOrigin;
  readonly type: TaskType;
  readonly statement: { readonly level: StatementLevel; readonly text: string };
  readonly environment: ImportedEnvironment;
  /** Environment's tree -> base tree, one after the other. */
  readonly base: readonly TreeEdit[];
  /** Base tree -> solved tree; null = the source brings no solution, and validation must find another proof. */
  readonly gold: TreeEdit | null;
  /** Files put over the base tree before the verifier runs; they become the first of its `files`. */
  readonly tests: readonly TreeEdit[];
  /** Absent from the agent's tree. */
  readonly hiddenFiles: readonly string[];
  /** Files of the tree that judge: the verifier gets them as they are in the base tree, whatever the agent made of them. */
  readonly testFiles?: readonly string[];
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** Its `files` are those known without the tree. */
  readonly verifier: Verifier;
  /** Absent = the verifier's commands run in a box of the task's own image. */
  readonly verifierBox?: ImportedVerifierBox;
  /** What was read in another way than its source does, and why; one sentence each. */
  readonly notes: readonly string[];
}

export type ImportErrorKind = "file" | "row" | "field" | "unsupported" | "size" | "apply";

/**
 * What cannot be imported, and where. `file`: unreadable as a whole; `row`: not a row at all; `field`: a wrong value;
 * `unsupported`: a feature that is refused by name; `size`: above a documented limit; `apply`: an edit that does not fit the tree.
 */
export class ImportError extends Error {
  readonly kind: ImportErrorKind;
  readonly file: string;
  readonly row: number | null;
  readonly line: number | null;
  /** Dotted path in the row, or a file of the task's folder; null = the row as a whole. */
  readonly field: string | null;
  readonly expected: string;
  readonly found: string;

  constructor(
    kind: ImportErrorKind,
    at: {
      readonly file: string;
      readonly row?: number | null;
      readonly line?: number | null;
      readonly field?: string | null;
    },
    expected: string,
    found: string,
    options?: ErrorOptions,
  ) {
    const { file, row = null, line = null, field = null } = at;
    const place = [
      file,
      ...(line === null ? [] : [`line ${line}`]),
      // Lines of JSONL are rows; a list of JSON may stand in one line.
      ...(row === null || (line !== null && !file.endsWith(".json")) ? [] : [`row ${row}`]),
      ...(field === null ? [] : [`field ${field}`]),
    ].join(", ");
    super(`${place}: expected ${expected}, found ${found}`, options);
    this.name = "ImportError";
    this.kind = kind;
    this.file = file;
    this.row = row;
    this.line = line;
    this.field = field;
    this.expected = expected;
    this.found = found;
  }
}

export type RowResult = { readonly task: ImportedTask } | { readonly error: ImportError };

export interface ImportOptions {
  /** Stops after so many rows. */
  readonly limit?: number;
  /** Bash that runs the tests in place of what the rows say; `{tests}` stands for the files of their tests. */
  readonly test?: string;
  /** What `test` prints; pytest where it is absent. */
  readonly report?: ReportFormat;
  readonly signal?: AbortSignal;
}

/** Reads one dialect. A row that cannot be imported is a result, too; only a `file` error ends the reading, as the last result. */
export interface Importer {
  readonly name: ImportFormat;
  read(path: string, options: ImportOptions): AsyncIterable<RowResult>;
}
