/** Proof of an imported task on this host: its solution passes, doing nothing fails; then it is a task on record. */
import type { FileChange, Verdict } from "../../core/task.ts";
import { hostOptions } from "../../infra/stack/index.ts";
import { runtimeFolder } from "../../services/environments/index.ts";
import { type ImportedTask, type PreparedImport, prepareImport } from "../../services/formats/index.ts";
import { createGrading } from "../../services/grading/index.ts";
import { createHostImages, createRuntime, SandboxError } from "../../services/sandbox/index.ts";
import {
  type ArtifactStore,
  type Db,
  getImport,
  getJson,
  putJson,
  recordEnvironment,
  recordedArtifacts,
  recordStatement,
  recordTask,
} from "../../services/store/index.ts";

interface Context {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
  readonly stack: { readonly dataFolder: string };
}

type Found = Pick<Verdict, "outcome" | "rule" | "offending">;

export interface ImportProof {
  readonly key: string;
  readonly environment: string;
  readonly task: string;
  /** null = the source brings no solution. */
  readonly gold: Found | null;
  readonly nothing: Found;
  /** Whether the solution passed and doing nothing failed: only then the task is on record. */
  readonly proven: boolean;
}

export interface VerifyImportOptions {
  readonly signal?: AbortSignal;
  /** Told what a Dockerfile's build is at. */
  readonly log?: (line: string) => void;
}

/**
 * Prepares the import's box in Docker and grades in it, cold. Throws StoreError `missing`, SandboxError `unavailable`, and what
 * `prepareImport` throws, for an image that is not to be had or a solution that does not fit.
 */
export async function verifyImport(
  context: Context,
  key: string,
  { signal, log }: VerifyImportOptions = {},
): Promise<ImportProof> {
  const { db, artifacts, stack } = context;
  const { artifact, origin, ...row } = await getImport(db, key);
  const stored = await getJson<ImportedTask>(artifacts, artifact as never);
  const imported: ImportedTask = { ...stored, origin: { ...stored.origin, ...(origin as object) } };
  const host = hostOptions(stack.dataFolder);
  const images = createHostImages(host);
  const runtime = createRuntime("docker", host);
  const reason = await runtime.unavailable();
  if (reason !== null) throw new SandboxError("unavailable", reason);
  const grading = createGrading({ runtime });
  try {
    const prepared = await prepareImport(imported, {
      dataFolder: runtimeFolder(stack.dataFolder, "docker"),
      runtime,
      pull: (reference) => images.pull(reference, signal),
      note: (id, reference) => images.built(id, reference),
      ...(signal && { signal }),
      ...(log && { log }),
    });
    const { environment, task } = prepared;
    const grade = async (change: readonly FileChange[]): Promise<Found> => {
      const request = {
        environment,
        task,
        change,
        mode: "cold",
        reuse: false,
        ...(signal && { signal }),
      } as const;
      const { outcome, rule, offending } = await grading.grade(request);
      return { outcome, rule, offending };
    };
    const gold = imported.gold === null ? null : await grade(task.gold);
    const nothing = await grade([]);
    const proven = gold?.outcome === "passed" && nothing.outcome === "failed";
    if (proven) await record(context, prepared, row.source_id);
    return { key, environment: environment.key, task: task.id, gold, nothing, proven };
  } finally {
    await grading.close();
  }
}

async function record(
  { db, artifacts }: Context,
  { environment, task, statement }: PreparedImport,
  name: string,
): Promise<void> {
  const summary = { tests: 0, unstable: [], baselineRuns: 0, cpuSeconds: 0 };
  const version = environment.image?.reference ?? "";
  const artifact = await putJson(recordedArtifacts(artifacts, db), task, "task");
  await db.transaction().execute(async (tx) => {
    await recordEnvironment(tx, { key: environment.key, name, version, status: "ready", summary });
    await recordTask(tx, task, artifact);
    await recordStatement(tx, statement);
  });
}
