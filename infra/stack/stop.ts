/** `stopStack`: ends everything of a data folder's stack, also when its supervisor is already gone. */
import { setTimeout as sleep } from "node:timers/promises";
import { endLeftovers } from "./cleanup.ts";
import { StackError } from "./errors.ts";
import { type StackLock, takeLock } from "./lock.ts";
import { canonical } from "./paths.ts";
import { terminate } from "./proc.ts";
import type { StackState } from "./state.ts";
import { readStack, supervisorLives, writeState } from "./state.ts";

/** The sum of the graces a supervisor gives, and something for a busy machine. */
const supervisorGraceSeconds = 90;

export interface StopResult {
  /** False when nothing ran. */
  readonly stopped: boolean;
  /** Processes that had outlived their supervisor. */
  readonly leftovers: number;
}

export async function stopStack(dataFolder: string): Promise<StopResult> {
  const folder = canonical(dataFolder);
  const state = readStack(folder);
  // Without its state file a stack is still known by the variable that its processes carry.
  const alive = state !== null && supervisorLives(state);
  if (
    alive &&
    !(await terminate(state.supervisor, [{ signal: "SIGTERM", graceSeconds: supervisorGraceSeconds }]))
  )
    throw new StackError("failed", `the supervisor (pid ${state.supervisor.pid}) does not end`);
  const lock = await waitForLock(folder);
  try {
    const last = readStack(folder) ?? state;
    const leftovers = await endLeftovers(folder, last);
    if (last?.phase === "dead") writeState(asStopped(last));
    return { stopped: alive || leftovers > 0, leftovers };
  } finally {
    await lock.release();
  }
}

function asStopped(state: StackState): StackState {
  const processes = state.processes.map((process) => ({
    ...process,
    identity: null,
    phase: "stopped" as const,
  }));
  return { ...state, phase: "stopped", processes };
}

async function waitForLock(folder: string): Promise<StackLock> {
  for (let tries = 0; tries < 100; tries++) {
    const lock = await takeLock(folder);
    if (lock) return lock;
    await sleep(50);
  }
  throw new StackError("failed", "another tadpole is starting or stopping this stack; try again");
}
