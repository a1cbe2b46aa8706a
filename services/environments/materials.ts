/** Everything of an environment that follows from its pins alone: no test has run. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/canonical.ts";
import type { PinnedEntry } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import { commandsOf } from "./frameworks.ts";
import { isAtOrBelow } from "./paths.ts";
import type { EnvironmentRecord } from "./record.ts";
import { hashTree, type Tree } from "./tree.ts";
import type { CatalogueEntry } from "./types.ts";

export interface GatherOptions {
  readonly dataFolder: string;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** What the kinds of sources differ in. */
export interface Gathered {
  readonly tree: Tree;
  /** Files of the tree that may be run, where its source says so: an image's own modes. Default: what the system would run. */
  readonly programs?: ReadonlySet<string>;
  readonly modules: Tree;
  /** Versions that the baseline depends on. */
  readonly tools: Readonly<Record<string, string>>;
  /** Absent for tape, whose keys are older than these fields. */
  readonly env?: Readonly<Record<string, string>>;
  /** Sources relative to the environment's folder, or absolute on the host; no part of the key. */
  readonly mounts?: EnvironmentRecord["mounts"];
}

export interface Materials {
  readonly entry: PinnedEntry;
  readonly tree: Tree;
  readonly programs: ReadonlySet<string> | undefined;
  readonly modules: Tree;
  readonly record: Omit<EnvironmentRecord, "baseline" | "baselineRuns" | "cpuSeconds" | "unstable">;
}

/** The fields of an entry that are on record, and in its key. */
export function plainEntry(entry: PinnedEntry): EnvironmentRecord["entry"] {
  const { name, source, role, framework, lock, tools, commit, image, test, limits } = entry;
  return {
    name,
    source,
    role,
    sources: [...entry.sources],
    tests: [...entry.tests],
    omit: [...entry.omit],
    framework,
    ...(lock !== undefined && { lock }),
    ...(tools !== undefined && { tools: [...tools] }),
    ...(commit !== undefined && { commit }),
    ...(image !== undefined && { image }),
    ...(test !== undefined && { test: { ...test, argv: [...test.argv] } }),
    ...(limits !== undefined && { limits }),
  };
}

/** Hash of everything that determines an environment's tree, its tests and how they are run. */
export function keyOf(
  pins: Pick<
    EnvironmentRecord,
    | "packageName"
    | "version"
    | "integrity"
    | "entry"
    | "tools"
    | "treeHash"
    | "modulesHash"
    | "env"
    | "commands"
  >,
): string {
  const hash = createHash("sha256").update(canonicalJson(pins)).digest("hex");
  return `${pins.entry.name}@${pins.version}-${hash.slice(0, 12)}`;
}

/** Throws `catalogue` when the tree lacks what the entry names. */
export function assertPaths(entry: CatalogueEntry, tree: Tree): void {
  const missing =
    entry.sources.find((path) => !tree.has(path)) ?? entry.tests.find((path) => !hasPath(tree, path));
  if (missing !== undefined)
    throw new EnvironmentError("catalogue", `${entry.name}: ${entry.source} has no file ${missing}`);
}

function hasPath(tree: Tree, path: string): boolean {
  return [...tree.keys()].some((file) => isAtOrBelow(file, path));
}

export function toMaterials(entry: PinnedEntry, gathered: Gathered): Materials {
  const { tree, programs, modules, tools, env, mounts } = gathered;
  const pins = {
    packageName: entry.packageName,
    version: entry.version,
    integrity: entry.integrity,
    entry: plainEntry(entry),
    tools: { ...tools },
    treeHash: hashTree(tree),
    modulesHash: hashTree(modules),
    ...(env !== undefined && {
      env: { ...env },
      commands: commandsOf(entry, (path) => tree.has(path)).map(plainCommand),
    }),
  };
  const record = { key: keyOf(pins), ...pins, ...(mounts !== undefined && { mounts }) };
  return { entry, tree, programs, modules, record };
}

const plainCommand = (command: ReturnType<typeof commandsOf>[number]) => ({
  ...command,
  argv: [...command.argv],
});

/** Whether an entry's `omit` leaves a path in the tree; folders are refused whole. */
export function isKept(entry: Pick<PinnedEntry, "omit">, path: string): boolean {
  return !entry.omit.some((omitted) => isAtOrBelow(path, omitted));
}
