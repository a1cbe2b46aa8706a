/** SIGKILL to one process of a stack, and proof that it and everything below it ended. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { heldDownFile, type ProcessName, readStack } from "../infra/stack/index.ts";
import { commandLine, descendants, identify, isAlive, type ProcessIdentity } from "../infra/stack/proc.ts";

/** For what a killed process leaves to end by itself: Postgres' backends, bubblewrap and its command. */
const GRACE_SECONDS = 20;

export interface Killed {
  readonly process: ProcessName;
  readonly pid: number;
  /** Processes that were below it. */
  readonly below: number;
  /** Pids and command lines of those that still ran after the grace. */
  readonly survivors: readonly string[];
}

/** Null when that process does not serve at this moment. */
export function serving(folder: string, name: ProcessName): ProcessIdentity | null {
  const found = readStack(folder)?.processes.find((process) => process.name === name);
  return found?.phase === "ready" && found.identity !== null && isAlive(found.identity)
    ? found.identity
    : null;
}

/** Throws when the process is not there any more. */
export async function killProcess(
  name: ProcessName,
  identity: ProcessIdentity,
  graceSeconds = GRACE_SECONDS,
): Promise<Killed> {
  // By pid and start time alone: Postgres' backends rewrite their command lines, and what was just forked executes something else.
  const below = descendants(identity.pid)
    .filter((pid) => pid !== identity.pid)
    .flatMap((pid) => identify(pid, "") ?? []);
  process.kill(identity.pid, "SIGKILL");
  const left = () => [identity, ...below].filter(isAlive);
  const deadline = Date.now() + graceSeconds * 1000;
  while (left().length > 0 && Date.now() < deadline) await sleep(20);
  return {
    process: name,
    pid: identity.pid,
    below: below.length,
    survivors: left().map(({ pid }) => `${pid} ${commandLine(pid)}`),
  };
}

/** Kills a process and has the supervisor keep it down for that long. */
export async function outage(folder: string, name: ProcessName, seconds: number): Promise<Killed | null> {
  const file = heldDownFile(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  try {
    const identity = serving(folder, name);
    const killed = identity === null ? null : await killProcess(name, identity);
    await sleep(seconds * 1000);
    return killed;
  } finally {
    if (existsSync(file)) rmSync(file);
  }
}
