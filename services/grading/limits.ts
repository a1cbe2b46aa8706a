/** Limits of a test run, from the environment's own baseline. */
import type { PreparedEnvironment } from "../environments/types.ts";
import type { SandboxLimits } from "../sandbox/index.ts";

/** CPU time varies with caches and neighbours by less than 2; a solution may be somewhat slower than the original. */
const CPU_FACTOR = 5;
/** RLIMIT_CPU counts whole seconds. */
const MIN_CPU_SECONDS = 1;

/** The wall limit only catches what sleeps: a machine ten times too busy still ends by CPU time first. */
const WALL_FACTOR = 10;
const WALL_EXTRA_SECONDS = 10;

export const TEST_LIMITS: SandboxLimits = { memoryMb: 512, processes: 64, diskMb: 64 };

/** Limits of a whole run (all test files together). */
export function limitsOf(environment: Pick<PreparedEnvironment, "cpuSeconds">): {
  readonly limits: SandboxLimits;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
} {
  const cpuSeconds = Math.max(MIN_CPU_SECONDS, CPU_FACTOR * environment.cpuSeconds);
  return { limits: TEST_LIMITS, cpuSeconds, wallSeconds: WALL_FACTOR * cpuSeconds + WALL_EXTRA_SECONDS };
}
