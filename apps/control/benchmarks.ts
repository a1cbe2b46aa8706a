/** Benchmark files named by `synthesis.gates.decontaminate`: at the start of an experiment each becomes an artifact, which its settings name from then on. */
import { readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { SettingsError } from "../../core/schemas/index.ts";
import { readRows } from "../../services/formats/index.ts";
import { type ArtifactStore, putJson } from "../../services/store/index.ts";
import { indexBenchmark } from "../../services/synthesis/index.ts";

const FIELD = "synthesis.gates.decontaminate";
const PINNED = /^artifact:[0-9a-f]{64}$/;
const ROWS = /\.(jsonl|ndjson|json|parquet)$/i;

export const isPinnedBenchmark = (path: string): boolean => PINNED.test(path);

const withBenchmarks = (
  settings: ExperimentSettings,
  decontaminate: readonly string[],
): ExperimentSettings => ({
  ...settings,
  synthesis: { ...settings.synthesis, gates: { ...settings.synthesis.gates, decontaminate } },
});

/** Paths relative to the experiment's file become absolute. */
export function locateBenchmarks(settings: ExperimentSettings, file: string): ExperimentSettings {
  const { decontaminate } = settings.synthesis.gates;
  if (decontaminate.length === 0) return settings;
  const folder = dirname(resolve(file));
  return withBenchmarks(
    settings,
    decontaminate.map((path) => (isPinnedBenchmark(path) ? path : resolve(folder, path))),
  );
}

/** The same file gives the same artifact. Throws SettingsError for what cannot be read. */
export async function pinBenchmarks(
  artifacts: ArtifactStore | undefined,
  settings: ExperimentSettings,
): Promise<ExperimentSettings> {
  const decontaminate = settings.synthesis.gates?.decontaminate ?? [];
  if (decontaminate.every(isPinnedBenchmark)) return settings;
  const pinned: string[] = [];
  for (const path of decontaminate) {
    if (isPinnedBenchmark(path)) pinned.push(path);
    else if (artifacts === undefined || !isAbsolute(path))
      throw refused(path, "artifact:<sha256>, or a path that the experiment's file makes absolute");
    else
      pinned.push(
        (await putJson(artifacts, await indexBenchmark(basename(path), textsOf(path)), "keys")).uri,
      );
  }
  return withBenchmarks(settings, pinned);
}

const refused = (found: string, expected: string): SettingsError =>
  new SettingsError("impossible-value", { file: found, field: FIELD, line: null, found, expected });

/** Every text of its rows, keys left out; the whole of a file without rows. */
async function* textsOf(path: string): AsyncGenerator<string> {
  if (!ROWS.test(path)) {
    yield await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw refused(path, `a benchmark's file (${error.code ?? error.message})`);
    });
    return;
  }
  for await (const read of readRows(path)) {
    if ("error" in read) throw refused(path, `a benchmark's file (${read.error.message})`);
    yield* stringsIn(read.row.value);
  }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const member of Object.values(value)) yield* stringsIn(member);
}
