/** What a process and all its descendants use, read from /proc. */
import { readdirSync, readFileSync } from "node:fs";

export interface TreeUse {
  readonly processes: number;
  /** Resident memory that is the processes' own (shared file pages are not counted). */
  readonly memoryBytes: number;
  /** CPU of the live processes and of the dead ones they waited for. */
  readonly cpuSeconds: number;
}

const PAGE_BYTES = 4096;
/** USER_HZ, the unit of /proc's times; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Looks at `enough` processes at most: a fork bomb must not make each look slower. */
export function useOfTree(pid: number, enough: number): TreeUse {
  let processes = 0;
  let memoryBytes = 0;
  let cpuSeconds = 0;
  const queue = [pid];
  for (let next = queue.pop(); next !== undefined && processes < enough; next = queue.pop()) {
    const stat = readStat(next);
    if (stat === undefined) continue;
    processes++;
    cpuSeconds += stat.cpuSeconds + stat.childrenCpuSeconds;
    memoryBytes += privateBytes(next);
    queue.push(...childrenOf(next, stat.threads));
  }
  return { processes, memoryBytes, cpuSeconds };
}

/** Pids of the processes that live in the sandbox of that name, whoever started them. */
export function inhabitantsOf(name: string): number[] {
  return list("/proc")
    .filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/mountinfo`)?.includes(`${name}/tree `))
    .map(Number);
}

export interface ProcessStat {
  readonly parent: number;
  readonly threads: number;
  readonly cpuSeconds: number;
  /** Of the children it waited for, and of theirs. */
  readonly childrenCpuSeconds: number;
  /** Clock ticks since boot; with the pid, names a process for good. */
  readonly startTicks: string;
}

export function readStat(pid: number | "self"): ProcessStat | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The command's name stands in parentheses and may hold anything, parentheses too.
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined || fields.length < 20) return undefined;
  const ticks = (index: number) => Number(fields[index]) / TICKS_PER_SECOND;
  return {
    parent: Number(fields[1]),
    cpuSeconds: ticks(11) + ticks(12),
    childrenCpuSeconds: ticks(13) + ticks(14),
    threads: Number(fields[17]),
    startTicks: fields[19]!,
  };
}

function privateBytes(pid: number): number {
  const [, resident, shared] = (read(`/proc/${pid}/statm`) ?? "0 0 0").split(" ").map(Number);
  return Math.max(0, (resident ?? 0) - (shared ?? 0)) * PAGE_BYTES;
}

function childrenOf(pid: number, threads: number): number[] {
  const ids = threads <= 1 ? [String(pid)] : list(`/proc/${pid}/task`);
  return ids.flatMap((id) =>
    (read(`/proc/${pid}/task/${id}/children`) ?? "").split(" ").filter(Boolean).map(Number),
  );
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
