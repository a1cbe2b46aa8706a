/** Makes a prepared environment of a catalogue entry: tree, modules, baseline; once per data folder. */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { loadEntries } from "./added.ts";
import { type Baseline, measureBaseline, type RunTests } from "./baseline.ts";
import { type Catalogue, findEntry, type PinnedEntry } from "./catalogue.ts";
import { findSourceCopies } from "./copies.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, moveIntoPlace, temporaryPath } from "./folders.ts";
import { gatherGit } from "./git-files.ts";
import { gatherGo } from "./go.ts";
import { gatherImage } from "./image.ts";
import { type Gathered, type GatherOptions, type Materials, toMaterials } from "./materials.ts";
import { gatherNpm } from "./npm.ts";
import { gatherPython } from "./python.ts";
import { type EnvironmentRecord, environmentFolder, RECORD_FILE, readRecord, toPrepared } from "./record.ts";
import { assertHistory } from "./snapshot.ts";
import { hasHistory } from "./sources.ts";
import { type Tree, writeTree } from "./tree.ts";
import type { PreparedEnvironment } from "./types.ts";

/** Runs of the untouched tests unless the caller wants another number. */
const BASELINE_RUNS = 3;

export interface PrepareOptions {
  /** Name of a catalogue entry. */
  readonly name: string;
  readonly dataFolder: string;
  readonly runTests: RunTests;
  /** Baseline runs that must agree; default `BASELINE_RUNS`. A record of fewer runs is made anew. 0 = its own tests judge nothing. */
  readonly repeats?: number;
  /** Default: the bundled one and what the data folder has beside it. */
  readonly catalogue?: Catalogue;
  /** Seconds after which a baseline run is stopped; default 300. */
  readonly wallSeconds?: number;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** Of an environment whose tasks bring their own verifiers. */
const UNMEASURED: Baseline = { statuses: {}, unstable: [], cpuSeconds: 0, runs: 0 };

function subtree(tree: Tree, keep: (path: string) => boolean): Tree {
  return new Map([...tree].filter(([path]) => keep(path)));
}

/** Throws `source-copy` when the sandbox would hold the sources twice, below /repo or in its modules. */
function assertNoSourceCopy(entry: PinnedEntry, tree: Tree, modules: Tree): void {
  // Imported tasks name no sources: their images are as their makers left them.
  if (entry.sources.length === 0) return;
  const sources = subtree(tree, (path) => entry.sources.includes(path));
  const others = new Map([
    ...subtree(tree, (path) => !entry.sources.includes(path) && !path.startsWith(".git/")),
    ...[...modules].map(([path, content]) => [`node_modules/${path}`, content] as const),
  ]);
  // Renamed variables and merged statements hide a minified copy from a comparison of text: its file's name gives it away.
  const built = [...others.keys()].find((path) => /\.min\.[a-z]+$|\.map$/.test(path));
  if (built !== undefined)
    throw new EnvironmentError(
      "source-copy",
      `${entry.name}: ${built} is a built file that may hold the sources; leave it out by omit`,
    );
  const [copy] = findSourceCopies(sources, others);
  if (copy !== undefined)
    throw new EnvironmentError(
      "source-copy",
      `${entry.name}: ${copy.file} holds ${Math.round(copy.share * 100)} % of ${copy.source}; leave it out by omit`,
    );
}

function gather(entry: PinnedEntry, options: GatherOptions): Promise<Gathered> {
  switch (entry.pins.kind) {
    case "npm":
      return gatherNpm(entry, entry.pins.lock, options);
    case "pypi":
      return gatherPython(entry, entry.pins.wheels, options);
    case "go":
      return gatherGo(entry, options);
    case "git":
      return gatherGit(entry, entry.pins, options);
    case "docker":
      return gatherImage(entry, entry.pins.image, options);
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o644);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The record that stands under the key when it is good enough to be used. */
async function usableRecord(
  dataFolder: string,
  key: string,
  repeats: number,
  log?: (line: string) => void,
): Promise<EnvironmentRecord | null> {
  try {
    const record = await readRecord(dataFolder, key);
    return record.baselineRuns >= repeats ? record : null;
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    if (error.kind === "damaged") log?.(`${error.message}; preparing it again`);
    return null;
  }
}

async function build(materials: Materials, options: PrepareOptions, repeats: number): Promise<void> {
  const { entry, record } = materials;
  assertNoSourceCopy(entry, materials.tree, materials.modules);
  assertHistory(entry.name, materials.tree, hasHistory(entry) ? "one" : "none");
  const temporary = temporaryPath(environmentsFolder(options.dataFolder), entry.name);
  try {
    // Test files of tape environments never had modes, and their trees' hashes are in published evidence.
    const programs = entry.framework !== "tape";
    await writeTree(materials.tree, join(temporary, "root"), { programs: materials.programs ?? programs });
    await writeTree(materials.modules, join(temporary, "modules"), { programs });
    const untested = { ...record, baseline: {}, baselineRuns: repeats, cpuSeconds: 0, unstable: [] };
    const measured =
      repeats === 0
        ? UNMEASURED
        : await measureBaseline(toPrepared(untested, temporary), options.runTests, repeats, options);
    const complete: EnvironmentRecord = {
      ...record,
      baseline: measured.statuses,
      baselineRuns: measured.runs,
      cpuSeconds: measured.cpuSeconds,
      unstable: [...measured.unstable],
    };
    await writeDurably(join(temporary, RECORD_FILE), `${JSON.stringify(complete, null, 1)}\n`);
    // Another preparer may have finished meanwhile: its folder is in use and stays.
    const replace = (await usableRecord(options.dataFolder, record.key, repeats)) === null;
    await moveIntoPlace(temporary, environmentFolder(options.dataFolder, record.key), { replace });
    const tests = Object.keys(measured.statuses).length;
    options.log?.(
      `${record.key}: ${tests} tests, ${measured.runs} runs, ${measured.unstable.length} unstable`,
    );
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * The prepared environment of a catalogue entry. Re-uses what the data folder has when its hashes still match and it had at least
 * `repeats` baseline runs; rebuilds it otherwise. Several processes may prepare the same entry at once. Throws `EnvironmentError`.
 */
export async function prepareEnvironment(options: PrepareOptions): Promise<PreparedEnvironment> {
  const { dataFolder, signal } = options;
  const repeats = options.repeats ?? BASELINE_RUNS;
  const catalogue = options.catalogue ?? (await loadEntries(dataFolder));
  const entry = findEntry(catalogue, options.name);
  const materials = toMaterials(entry, await gather(entry, options));
  signal?.throwIfAborted();
  const { key } = materials.record;
  if ((await usableRecord(dataFolder, key, repeats, options.log)) === null)
    await build(materials, options, repeats);
  return loadEnvironment(dataFolder, key);
}

/** A prepared environment by its key, as tasks name it. Throws `EnvironmentError`: `missing` or `damaged`. */
export async function loadEnvironment(dataFolder: string, key: string): Promise<PreparedEnvironment> {
  return toPrepared(await readRecord(dataFolder, key), environmentFolder(dataFolder, key));
}
