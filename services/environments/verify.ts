/** Proves an environment: prepares it once more from nothing and compares the two. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxRuntime } from "../sandbox/runtime.ts";
import { findBoxCopies } from "./box-search.ts";
import { findBuiltinCopies } from "./builtins.ts";
import { EnvironmentError } from "./errors.ts";
import { flakeBound } from "./flake.ts";
import { languageOf } from "./frameworks.ts";
import { leadsTo } from "./paths.ts";
import { type PrepareOptions, prepareEnvironment } from "./prepare.ts";
import { type EnvironmentRecord, readRecord } from "./record.ts";
import { assertHistory } from "./snapshot.ts";
import { hasHistory } from "./sources.ts";
import { readTree } from "./tree.ts";
import type { PreparedEnvironment } from "./types.ts";

export interface Verification {
  readonly key: string;
  /** What differs between the data folder's environment and the fresh one, in words; empty when nothing does. */
  readonly differences: readonly string[];
  readonly tests: number;
  /** Tests that fail untouched. */
  readonly failing: number;
  readonly unstable: readonly string[];
  /** Baseline runs of both preparations together. */
  readonly runs: number;
  /** Upper bound, at 95 %, of the rate per run at which a stable test still flakes. */
  readonly flakeBound: number;
  /** CPU seconds of the slowest run. */
  readonly cpuSeconds: number;
}

/** Differences of two records in words. Times differ from run to run and are left out. */
export function compareRecords(before: EnvironmentRecord, now: EnvironmentRecord): string[] {
  const differences: string[] = [];
  for (const field of ["key", "integrity", "treeHash", "modulesHash"] as const)
    if (before[field] !== now[field])
      differences.push(`${field}: ${before[field]} before, ${now[field]} now`);
  for (const test of [...new Set([...Object.keys(before.baseline), ...Object.keys(now.baseline)])].sort())
    if (before.baseline[test] !== now.baseline[test])
      differences.push(
        `test ${test}: ${before.baseline[test] ?? "not in the baseline"} before, ${now.baseline[test] ?? "not in the baseline"} now`,
      );
  return differences;
}

/** Throws `source-copy`. Sources that no task is made from may be anywhere. */
async function assertNoCopyInReach(
  environment: PreparedEnvironment,
  runtime: SandboxRuntime | undefined,
): Promise<void> {
  const { entry, root } = environment;
  if (entry.role === "pretrain") return;
  const sources = await readTree(root, leadsTo(entry.sources));
  const copies = [
    ...(languageOf(entry) === "node" ? findBuiltinCopies(sources) : []),
    ...(runtime === undefined ? [] : await findBoxCopies(environment, runtime)),
  ];
  const [copy] = copies;
  if (copy === undefined) return;
  const share = Math.round(copy.share * 100);
  const where = copy.file.startsWith("node:") ? `Node's ${copy.file}` : `${copy.file}, in the sandbox,`;
  throw new EnvironmentError("source-copy", `${entry.name}: ${where} holds ${share} % of ${copy.source}`);
}

/**
 * Compares the data folder's environment (prepared first when it is not there) with one made anew in a temporary folder, from the
 * registry on, and its sources with Node's own modules and, given a runtime, with all that a sandbox shows. `scratchFolder` lets several verifications share one installation; it is the caller's to remove.
 */
export async function verifyEnvironment(
  options: PrepareOptions & { readonly scratchFolder?: string; readonly runtime?: SandboxRuntime },
): Promise<Verification> {
  const kept = await prepareEnvironment(options);
  await assertNoCopyInReach(kept, options.runtime);
  assertHistory(kept.key, await readTree(kept.root), hasHistory(kept.entry) ? "one" : "none");
  const scratch = options.scratchFolder ?? (await mkdtemp(join(tmpdir(), "tadpole-verify-")));
  try {
    const fresh = await prepareEnvironment({ ...options, dataFolder: scratch });
    const before = await readRecord(options.dataFolder, kept.key);
    const now = await readRecord(scratch, fresh.key);
    const runs = kept.baselineRuns + fresh.baselineRuns;
    return {
      key: kept.key,
      differences: compareRecords(before, now),
      tests: Object.keys(kept.baseline).length,
      failing: Object.values(kept.baseline).filter((status) => status === "failed").length,
      unstable: kept.unstable,
      runs,
      flakeBound: flakeBound(runs),
      cpuSeconds: Math.max(kept.cpuSeconds, fresh.cpuSeconds),
    };
  } finally {
    if (options.scratchFolder === undefined) await rm(scratch, { recursive: true, force: true });
  }
}
