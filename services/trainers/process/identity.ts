/** Which process a number names: numbers are used again, together with a start time and a boot they are not. */
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot: field 22 of /proc/<pid>/stat (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html). */
  readonly started: number;
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

export function bootId(): string {
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

/** Null where there is no such process, or only what is left of it until its parent has asked for its exit code. */
export function startOf(pid: number): number | null {
  const line = readText(`/proc/${pid}/stat`);
  // The command in parentheses may itself hold spaces and parentheses.
  const fields = line?.slice(line.lastIndexOf(")") + 2).split(" ");
  if (fields === undefined || fields[0] === "Z") return null;
  return Number(fields[19]);
}

export function isRunning({ pid, started }: ProcessIdentity): boolean {
  return startOf(pid) === started;
}
