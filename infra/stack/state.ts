/** The stack's state as `<data>/stack.json` keeps it: written by the supervisor alone, read by everyone. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { StackError } from "./errors.ts";
import { stackFiles } from "./paths.ts";
import type { Ports } from "./ports.ts";
import type { ProcessIdentity } from "./proc.ts";
import { bootId, isAlive } from "./proc.ts";
import type { WorkerVersioning } from "./worker-settings.ts";

export const processNames = ["temporal", "postgres", "policy", "orchestrate", "sandbox", "gpu"] as const;
export type ProcessName = (typeof processNames)[number];

/**
 * waiting: for what it needs; starting: not ready yet; ready; backoff: ended, starts again at a given time;
 * failed: given up until the next `up`; stopped; external: runs elsewhere; skipped: left out by TADPOLE_STACK_ONLY.
 */
export type ProcessPhase =
  | "waiting"
  | "starting"
  | "ready"
  | "backoff"
  | "failed"
  | "stopped"
  | "external"
  | "skipped";

export interface ProcessState {
  readonly name: ProcessName;
  readonly phase: ProcessPhase;
  readonly identity: ProcessIdentity | null;
  /** Starts after the first, since this supervisor began. */
  readonly restarts: number;
  /** CPU seconds of all earlier incarnations in this data folder, and of all together at the last sample. */
  readonly cpuPastSeconds: number;
  readonly cpuSeconds: number;
  /** Why it is not ready, with its last lines; null while nothing is wrong. */
  readonly problem: string | null;
  /** Where Prometheus finds its metrics; null while it serves none. */
  readonly metricsUrl: string | null;
  readonly log: string;
}

/** Paths of PEM files, and the name that the server's certificate has to have. With none of them the system's own authorities decide. */
export interface TlsSettings {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly serverName?: string;
}

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
  /** Names the environment variable that holds the key; the key itself is never stored. */
  readonly apiKeyVariable: string | null;
  /** Null: as the API key has it, which is never sent in the clear. */
  readonly tls: TlsSettings | null;
}

export interface StackState {
  readonly dataFolder: string;
  readonly bootId: string;
  readonly supervisor: ProcessIdentity;
  readonly supervisorCpuSeconds: number;
  /** `dead`: the supervisor ended without saying so (killed, or the machine restarted). */
  readonly phase: "starting" | "running" | "stopping" | "stopped" | "dead";
  readonly startedAt: string;
  readonly ports: Ports;
  readonly temporal: TemporalSettings & { readonly external: boolean; readonly ui: string | null };
  readonly postgres: { readonly external: boolean; readonly host: string; readonly database: string };
  readonly policyUrl: string;
  /** How the orchestrator's workflows are versioned; null: not. */
  readonly versioning: WorkerVersioning | null;
  readonly processes: readonly ProcessState[];
}

/** Rename makes a reader see the old state or the new one, never half of one. */
export function writeState(state: StackState): void {
  const file = stackFiles(state.dataFolder).state;
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The state as it is now: a state whose supervisor no longer lives reads as `dead`. Null when no stack ever ran here. */
export function readStack(folder: string): StackState | null {
  let text: string;
  try {
    text = readFileSync(stackFiles(folder).state, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new StackError("data-folder", `${stackFiles(folder).state}: ${(error as Error).message}`);
  }
  const state = parseState(text);
  if (state === null)
    throw new StackError(
      "data-folder",
      `${stackFiles(folder).state}: expected the state of a stack; remove this file, then run tadpole down and tadpole up`,
    );
  return state.phase === "stopped" || supervisorLives(state) ? state : { ...state, phase: "dead" };
}

/** Null for what no supervisor wrote. */
function parseState(text: string): StackState | null {
  let found: Partial<StackState> | null;
  try {
    found = JSON.parse(text) as Partial<StackState> | null;
  } catch {
    return null;
  }
  const whole =
    typeof found === "object" &&
    found !== null &&
    typeof found.phase === "string" &&
    typeof found.supervisor?.pid === "number" &&
    Array.isArray(found.processes) &&
    typeof found.temporal === "object" &&
    typeof found.postgres === "object" &&
    typeof found.ports === "object";
  return whole ? (found as StackState) : null;
}

export function supervisorLives(state: StackState): boolean {
  return state.bootId === bootId() && isAlive(state.supervisor);
}

/** Whether some supervisor holds this folder, in whatever phase. */
export function isRunning(state: StackState): boolean {
  return state.phase !== "stopped" && state.phase !== "dead";
}
