/** Processes as Linux's /proc shows them: who they are, whether they still are, what they used. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Linux counts process times in hundredths of a second for user space on every architecture. */
const ticksPerSecond = 100;

/** A pid alone may belong to somebody else by now; together with its start time and command it does not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot. */
  readonly startTicks: number;
  /** A part of the command line that only this process has. */
  readonly command: string;
}

export interface ProcessStat {
  readonly parent: number;
  readonly state: string;
  readonly startTicks: number;
  /** Of the process and of the children it has waited for. */
  readonly cpuSeconds: number;
}

export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Parses one line of /proc/PID/stat; the command in parentheses may itself hold spaces and parentheses. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const number = (index: number) => Number(fields[index - 3]);
  return {
    state: fields[0] ?? "?",
    parent: number(4),
    startTicks: number(22),
    cpuSeconds: (number(14) + number(15) + number(16) + number(17)) / ticksPerSecond,
  };
}

function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return null;
  }
}

export function processStat(pid: number): ProcessStat | null {
  const line = read(pid, "stat");
  return line ? parseStat(line) : null;
}

export function commandLine(pid: number): string {
  return (read(pid, "cmdline") ?? "").split("\0").join(" ").trim();
}

/** Null when the process has already ended. */
export function identify(pid: number, command: string): ProcessIdentity | null {
  const stat = processStat(pid);
  return stat ? { pid, startTicks: stat.startTicks, command } : null;
}

/** A zombie counts as gone: it holds nothing but its entry in the table. */
export function isAlive(identity: ProcessIdentity): boolean {
  const stat = processStat(identity.pid);
  return (
    stat !== null &&
    stat.state !== "Z" &&
    stat.startTicks === identity.startTicks &&
    commandLine(identity.pid).includes(identity.command)
  );
}

export function allPids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Processes whose environment holds exactly `variable=value`, this process excepted. */
export function processesWith(variable: string, value: string): ProcessIdentity[] {
  const wanted = `${variable}=${value}`;
  const found: ProcessIdentity[] = [];
  for (const pid of allPids()) {
    if (pid === process.pid || !read(pid, "environ")?.split("\0").includes(wanted)) continue;
    const identity = identify(pid, commandLine(pid));
    if (identity && isAlive(identity)) found.push(identity);
  }
  return found;
}

/** `pid` and everything below it. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const each of allPids()) {
    const parent = processStat(each)?.parent;
    if (parent === undefined) continue;
    const siblings = children.get(parent) ?? [];
    siblings.push(each);
    children.set(parent, siblings);
  }
  const result = [pid];
  for (let next = 0; next < result.length; next++) result.push(...(children.get(result[next]!) ?? []));
  return result;
}

/** CPU seconds of a process, of its living descendants and of those it has waited for. */
export function treeCpuSeconds(pid: number): number {
  return descendants(pid).reduce((sum, each) => sum + (processStat(each)?.cpuSeconds ?? 0), 0);
}

/** Resident memory in MiB of some processes together; pages they share (files, shared memory) count once. */
export function residentMb(pids: readonly number[]): number {
  let anonymous = 0;
  let file = 0;
  let shared = 0;
  for (const pid of pids) {
    const status = read(pid, "status") ?? "";
    const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    anonymous += kb("RssAnon");
    file = Math.max(file, kb("RssFile"));
    shared = Math.max(shared, kb("RssShmem"));
  }
  return (anonymous + file + shared) / 1024;
}

export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly graceSeconds: number;
}

/** Sends each signal in turn and waits its grace; SIGKILL ends the list always. Returns whether the process is gone. */
export async function terminate(identity: ProcessIdentity, steps: readonly StopStep[]): Promise<boolean> {
  for (const step of [...steps, { signal: "SIGKILL" as const, graceSeconds: 5 }]) {
    if (!isAlive(identity)) return true;
    try {
      process.kill(identity.pid, step.signal);
    } catch {
      return !isAlive(identity);
    }
    const deadline = Date.now() + step.graceSeconds * 1000;
    while (isAlive(identity) && Date.now() < deadline) await sleep(20);
  }
  return !isAlive(identity);
}
