/** Limits of a test run, from the environment's own baseline. */
import type { Verifier } from "../../core/task.ts";
import type { CatalogueEntry, LimitOverrides, PreparedEnvironment } from "../environments/types.ts";
import type { SandboxLimits } from "../sandbox/index.ts";

/** CPU time varies with caches and neighbours by less than 2; a solution may be somewhat slower than the original. */
const CPU_FACTOR = 5;
/** RLIMIT_CPU counts whole seconds. */
const MIN_CPU_SECONDS = 1;

/** The wall limit only catches what sleeps: a machine ten times too busy still ends by CPU time first. */
const WALL_FACTOR = 10;
const WALL_EXTRA_SECONDS = 10;

/** Cores that a verifier may keep busy. */
const CORES = 4;

export interface RunLimits {
  readonly limits: SandboxLimits;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

export const TEST_LIMITS: SandboxLimits = { memoryMb: 512, processes: 64, diskMb: 64 };

/** Limits of a whole run (all commands together); sizes are the entry's own where it names any. */
export function limitsOf({
  cpuSeconds: baseline,
  entry,
}: Pick<PreparedEnvironment, "cpuSeconds"> & { readonly entry?: Pick<CatalogueEntry, "limits"> }): RunLimits {
  const cpuSeconds = Math.max(MIN_CPU_SECONDS, CPU_FACTOR * baseline);
  const wallSeconds = WALL_FACTOR * cpuSeconds + WALL_EXTRA_SECONDS;
  return { limits: sizesOf(entry?.limits), cpuSeconds, wallSeconds };
}

/** A verifier's own wall limit holds; its CPU limit is that of a box whose cores are all busy for as long. */
export function verifierLimits(
  { entry }: { readonly entry: Pick<CatalogueEntry, "limits"> },
  { timeoutSeconds }: Pick<Verifier, "timeoutSeconds">,
): RunLimits {
  const cpuSeconds = Math.max(MIN_CPU_SECONDS, CORES * timeoutSeconds);
  return { limits: sizesOf(entry.limits), cpuSeconds, wallSeconds: timeoutSeconds };
}

function sizesOf(overrides: LimitOverrides = {}): SandboxLimits {
  const { memoryMb, processes, diskMb } = TEST_LIMITS;
  return {
    memoryMb: overrides.memoryMb ?? memoryMb,
    processes: overrides.processes ?? processes,
    diskMb: overrides.diskMb ?? diskMb,
  };
}
