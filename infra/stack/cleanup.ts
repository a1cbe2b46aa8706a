/** Ends what a stack left behind when its supervisor was killed or the machine restarted. */
import { removeSharedMemory } from "./postgres.ts";
import {
  bootId,
  isAlive,
  type ProcessIdentity,
  processesWith,
  processStat,
  type StopStep,
  terminate,
} from "./proc.ts";
import { stackMark } from "./processes.ts";
import type { StackState } from "./state.ts";

/** Postgres is asked in its own way first, so that the next start needs no recovery. */
const steps: readonly StopStep[] = [
  { signal: "SIGINT", graceSeconds: 5 },
  { signal: "SIGTERM", graceSeconds: 5 },
];

/**
 * Call only while holding the folder's lock, with no supervisor alive. A recorded process is ended only if pid, start time and
 * command all still match; one that is in no record only if its environment names this folder. Returns how many were ended.
 */
export async function endLeftovers(folder: string, state: StackState | null): Promise<number> {
  const recorded = (state && state.bootId === bootId() ? state.processes : [])
    .map((process) => process.identity)
    .filter((identity) => identity !== null);
  let ended = await endAll(recorded.filter(isAlive));
  // Parents first: a server winds up its own children better than a signal to each of them would.
  ended += await endAll(roots(processesWith(stackMark, folder)));
  ended += await endAll(processesWith(stackMark, folder));
  await removeSharedMemory(folder);
  return ended;
}

async function endAll(found: readonly ProcessIdentity[]): Promise<number> {
  await Promise.all(found.map((identity) => terminate(identity, steps)));
  return found.length;
}

function roots(found: readonly ProcessIdentity[]): ProcessIdentity[] {
  const pids = new Set(found.map((identity) => identity.pid));
  return found.filter((identity) => !pids.has(processStat(identity.pid)?.parent ?? 0));
}
