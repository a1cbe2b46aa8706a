/** `stackStatus`: the stack's processes as they are at this moment, and where its CPU time went. */
import { canonical } from "./paths.ts";
import { descendants, isAlive, residentMb, treeCpuSeconds } from "./proc.ts";
import type { ProcessName, ProcessPhase, ProcessState, StackState } from "./state.ts";
import { readStack, supervisorLives } from "./state.ts";

export interface ProcessStatus {
  readonly name: ProcessName | "supervisor";
  readonly pid: number | null;
  readonly state: ProcessPhase | "running";
  readonly restarts: number;
  /** Over all incarnations in this data folder, with the children they started (Postgres: its backends). */
  readonly cpuSeconds: number;
  /** Resident memory; of Postgres with its backends, of the others without the commands they run. Null when it does not run. */
  readonly rssMb: number | null;
  readonly problem: string | null;
  /** Where Prometheus finds its metrics (docs/metrics.md); null while it serves none. */
  readonly metricsUrl: string | null;
  readonly log: string | null;
}

export interface CpuShare {
  readonly totalSeconds: number;
  /** Temporal and Postgres. */
  readonly infrastructureSeconds: number;
  /** infrastructureSeconds / totalSeconds, 0 when nothing was used yet. */
  readonly infrastructureShare: number;
}

export interface StackStatus {
  readonly dataFolder: string;
  readonly phase: StackState["phase"] | "never started";
  readonly processes: readonly ProcessStatus[];
  readonly cpu: CpuShare;
  readonly temporal: {
    readonly address: string;
    readonly namespace: string;
    readonly ui: string | null;
  } | null;
  readonly postgres: { readonly host: string; readonly database: string } | null;
  readonly policyUrl: string | null;
}

export function stackStatus(dataFolder: string): StackStatus {
  const folder = canonical(dataFolder);
  const state = readStack(folder);
  if (!state) {
    const nothing = { temporal: null, postgres: null, policyUrl: null };
    return { dataFolder: folder, phase: "never started", processes: [], cpu: cpuShare([]), ...nothing };
  }
  const processes = [supervisorStatus(state), ...state.processes.map(processStatus)];
  const { address, namespace, ui } = state.temporal;
  const { host, database } = state.postgres;
  return {
    dataFolder: folder,
    phase: state.phase,
    processes,
    cpu: cpuShare(processes),
    temporal: { address, namespace, ui },
    postgres: { host, database },
    policyUrl: state.policyUrl,
  };
}

export function cpuShare(processes: readonly Pick<ProcessStatus, "name" | "cpuSeconds">[]): CpuShare {
  let total = 0;
  let infrastructure = 0;
  for (const { name, cpuSeconds } of processes) {
    total += cpuSeconds;
    if (name === "temporal" || name === "postgres") infrastructure += cpuSeconds;
  }
  return share(total, infrastructure);
}

function share(totalSeconds: number, infrastructureSeconds: number): CpuShare {
  const infrastructureShare = totalSeconds > 0 ? infrastructureSeconds / totalSeconds : 0;
  return { totalSeconds, infrastructureSeconds, infrastructureShare };
}

function supervisorStatus(state: StackState): ProcessStatus {
  const alive = supervisorLives(state);
  return {
    name: "supervisor",
    pid: alive ? state.supervisor.pid : null,
    state: alive ? "running" : "stopped",
    restarts: 0,
    cpuSeconds: state.supervisorCpuSeconds,
    rssMb: alive ? residentMb([state.supervisor.pid]) : null,
    problem:
      state.phase === "dead" ? "ended without stopping the stack; run tadpole up or tadpole down" : null,
    metricsUrl: null,
    log: null,
  };
}

function processStatus(process: ProcessState): ProcessStatus {
  const { name, phase, restarts, cpuPastSeconds, cpuSeconds, problem, metricsUrl, log, identity } = process;
  const alive = identity !== null && isAlive(identity);
  return {
    name,
    pid: alive ? identity.pid : null,
    state: alive || identity === null ? phase : "stopped",
    restarts,
    cpuSeconds: alive ? Math.max(cpuSeconds, cpuPastSeconds + treeCpuSeconds(identity.pid)) : cpuSeconds,
    rssMb: alive ? residentMb(name === "postgres" ? descendants(identity.pid) : [identity.pid]) : null,
    problem,
    metricsUrl: alive ? (metricsUrl ?? null) : null,
    log,
  };
}
