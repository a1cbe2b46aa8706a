/** Tasks of other projects: read from files, kept on record, shown. */
import { canonicalJson } from "../../core/canonical.ts";
import type { ImportFormat } from "../../core/formats.ts";
import type { ReportFormat } from "../../core/task.ts";
import { IMPORTERS, type ImportError, type ImportedTask } from "../../services/formats/index.ts";
import {
  type ArtifactStore,
  type Db,
  getImport,
  getJson,
  type ImportRow,
  putJson,
  type RemovedImport,
  recordedArtifacts,
  recordImport,
  removeImport,
  sha256Of,
} from "../../services/store/index.ts";
import type { ImportFilters } from "../../services/store/pages.ts";
import { pageImports } from "../../services/store/pages.ts";
import { type ListRequest, list } from "./pages.ts";

interface Context {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
}

export interface ImportRequest {
  readonly format: ImportFormat;
  /** File or folder. */
  readonly path: string;
  /** Rows that are read, the bad ones too. */
  readonly limit?: number;
  /** As `ImportOptions` has them. */
  readonly test?: string;
  readonly report?: ReportFormat;
  readonly onProgress?: (report: ImportReport) => void;
}

export interface Refusal {
  readonly file: string;
  readonly row: number | null;
  readonly line: number | null;
  readonly field: string | null;
  readonly kind: ImportError["kind"];
  readonly message: string;
}

export interface Noted {
  readonly tasks: number;
  readonly first: string;
}

export interface ImportReport {
  /** Nothing was recorded. */
  readonly dryRun: boolean;
  /** Tasks that can be imported; of a dry run they are counted here alone. */
  readonly read: number;
  readonly new: number;
  /** New under a name that the record has with other content; both stay. */
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The first of them. */
  readonly refusals: readonly Refusal[];
  /** What was read in another way than its source does: each sentence with how many tasks it is said of, and the first of them. */
  readonly notes: Readonly<Record<string, Noted>>;
}

const REFUSALS_KEPT = 1000;

/** Reads every task under a path and records it, or with `context` null only says what would become of it. Bad rows are counted, not thrown. */
export async function importTasks(context: Context | null, request: ImportRequest): Promise<ImportReport> {
  const { format, path, limit, test, report: reportFormat, onProgress } = request;
  const options = {
    ...(limit === undefined ? {} : { limit }),
    ...(test === undefined ? {} : { test }),
    ...(reportFormat === undefined ? {} : { report: reportFormat }),
  };
  const counts = { read: 0, new: 0, changed: 0, unchanged: 0, refused: 0 };
  const refusals: Refusal[] = [];
  const notes: Record<string, Noted> = {};
  const report = { dryRun: context === null, ...counts, refusals, notes };
  for await (const result of IMPORTERS[format].read(path, options)) {
    if ("error" in result) {
      report.refused++;
      if (refusals.length < REFUSALS_KEPT) refusals.push(refusalOf(result.error));
    } else {
      report.read++;
      const { origin } = result.task;
      for (const note of result.task.notes) {
        const { tasks, first } = notes[note] ?? { tasks: 0, first: origin.id };
        notes[note] = { tasks: tasks + 1, first };
      }
      if (context !== null) report[await record(context, result.task)]++;
    }
    onProgress?.(report);
  }
  return report;
}

const refusalOf = ({ file, row, line, field, kind, message }: ImportError): Refusal => ({
  ...{ file, row, line, field, kind, message },
});

async function record({ db, artifacts }: Context, task: ImportedTask) {
  const { origin, environment, failToPass, passToPass, gold } = task;
  const { format, id, ...place } = origin;
  // Where it stood is no part of what it is: a moved file changes nothing.
  const content = { ...task, origin: { format, id } };
  const artifact = await putJson(recordedArtifacts(artifacts, db), content, "import");
  return recordImport(db, {
    hash: sha256Of(Buffer.from(canonicalJson(content))),
    format,
    sourceId: id,
    image: environment.image.kind === "image" ? environment.image.reference : "Dockerfile",
    failToPass: failToPass.length,
    passToPass: passToPass.length,
    gold: gold !== null,
    origin: place,
    artifact,
  });
}

export const importsPage = ({ db }: Pick<Context, "db">, request: ListRequest<ImportFilters>) =>
  list("imports", request, (query) => pageImports(db, query));

export interface ImportDetail {
  readonly row: Omit<ImportRow, "artifact">;
  readonly task: Omit<ImportedTask, "origin">;
}

export interface ImportRemoval {
  readonly removed: string;
  /** A task that was proven of an import stays on record when only the import goes. */
  readonly kind: RemovedImport;
}

/** `key` of an import, or id of a task that was made of one. Throws StoreError `missing`, `conflict`. */
export async function removeImported({ db }: Pick<Context, "db">, key: string): Promise<ImportRemoval> {
  return { removed: key, kind: await removeImport(db, key) };
}

/** Throws StoreError `missing`, ArtifactError. */
export async function showImport({ db, artifacts }: Context, key: string): Promise<ImportDetail> {
  const { artifact, ...row } = await getImport(db, key);
  const { origin: _, ...task } = await getJson<ImportedTask>(artifacts, artifact as never);
  return { row, task };
}
