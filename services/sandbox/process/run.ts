/** Runs one bubblewrap process: output cut, limits watched, the whole tree killed at its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { Collector, decode, KILLED } from "../output.ts";
import { type ExecLimits, type ExecResult, SandboxError } from "../runtime.ts";
import { readStat, type TreeUse, useOfTree } from "./watch.ts";

/** File descriptor bwrap reports on. */
export const STATUS_FD = 3;

/** First look after this; most commands have ended by then and cost nothing. */
const WATCH_MS = 25;

/** After so many new processes between two looks the next one comes soon: a fork bomb doubles within a millisecond. */
const GROWTH = 8;
const GROWING_WATCH_MS = 2;

export interface RunRequest {
  readonly bwrap: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ExecLimits;
  readonly memoryBytes: number;
  readonly processes: number;
  /** Called on every look; true kills the command for its use of the disk. */
  readonly diskFull: () => boolean;
  /** A conversation instead of one input and collected output. */
  readonly talk?: Talk;
}

export interface Talk {
  readonly onStdout: (chunk: Uint8Array) => void;
  readonly onStart: (input: Writable, cpuSeconds: () => number) => void;
  readonly isIdle: () => boolean;
}

/**
 * Descriptors this process was given without close-on-exec would be open inside; /dev/null is put in their place.
 * Node's own are all close-on-exec.
 */
function closedInside(): ("ignore" | number)[] {
  blanks ??= inheritedDescriptors();
  return blanks;
}

let blanks: ("ignore" | number)[] | undefined;

function inheritedDescriptors(): ("ignore" | number)[] {
  const leaking = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > STATUS_FD && !isCloseOnExec(fd));
  if (leaking.length === 0) return [];
  const nothing = openSync("/dev/null", "r");
  const stdio: ("ignore" | number)[] = Array(Math.max(...leaking) - STATUS_FD).fill("ignore");
  for (const fd of leaking) stdio[fd - STATUS_FD - 1] = nothing;
  return stdio;
}

const O_CLOEXEC = 0o2000000;

function isCloseOnExec(fd: number): boolean {
  try {
    const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return (Number.parseInt(flags!, 8) & O_CLOEXEC) !== 0;
  } catch {
    return true; // the descriptor that listed the folder
  }
}

type Reason = "timeout" | "cpu" | "memory" | "processes" | "disk" | "abort";

/** Throws SandboxError `lost` when the command could not be started or its bwrap vanished; the signal's reason when aborted. */
export async function runBwrap(request: RunRequest): Promise<ExecResult> {
  const { limits, talk } = request;
  limits.signal?.throwIfAborted();
  const started = performance.now();
  const child = spawn(request.bwrap, request.args, {
    env: request.env,
    cwd: "/",
    // Its own session: a terminal's Ctrl-C is the caller's to handle.
    detached: true,
    stdio: [
      limits.stdin === undefined && talk === undefined ? "ignore" : "pipe",
      ...["pipe" as const, "pipe" as const, "pipe" as const],
      ...closedInside(),
    ],
  });
  const status = readStatus(child);
  const stdout = collect(child.stdout!, talk === undefined ? limits.outputBytes : 0);
  const stderr = collect(child.stderr!, limits.outputBytes);
  // A command that does not read its input closes it: not our error.
  child.stdin?.on("error", () => {});
  if (talk === undefined) child.stdin?.end(limits.stdin);
  else {
    child.stdout!.on("data", talk.onStdout);
    talk.onStart(child.stdin!, () => (status.pid === undefined ? 0 : useOfTree(status.pid, 64).cpuSeconds));
  }

  let reason: Reason | undefined;
  // The processes that a kill ends are never waited for, so that bwrap does not know what they used.
  let seenCpuSeconds = 0;
  const stop = (why: Reason) => {
    if (reason === undefined && status.pid !== undefined)
      seenCpuSeconds = useOfTree(status.pid, request.processes).cpuSeconds;
    reason ??= why;
    killTree(child, status.pid);
  };
  status.onPid = () => {
    if (reason !== undefined) killTree(child, status.pid);
  };
  const abort = () => stop("abort");
  limits.signal?.addEventListener("abort", abort, { once: true });
  const timeout = setTimeout(() => stop("timeout"), limits.timeoutSeconds * 1000);
  let watch: NodeJS.Timeout;
  let processes = 0;
  const look = () => {
    watch = setTimeout(look, WATCH_MS);
    if (reason !== undefined) return stop(reason);
    if (talk?.isIdle() || status.pid === undefined) return;
    // Process 1, the shell, is ours.
    const use = useOfTree(status.pid, request.processes + 2);
    const broken = brokenLimit(request, use);
    if (broken !== undefined) return stop(broken);
    if (use.processes - processes >= GROWTH) {
      clearTimeout(watch);
      watch = setTimeout(look, GROWING_WATCH_MS);
    }
    processes = use.processes;
  };
  watch = setTimeout(look, WATCH_MS);

  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new SandboxError("lost", `bubblewrap did not start: ${error.message}`, { cause: error })),
      );
      child.once("close", () => resolve());
    });
  } finally {
    clearTimeout(timeout);
    clearTimeout(watch);
    limits.signal?.removeEventListener("abort", abort);
  }
  if (reason === "abort") throw limits.signal!.reason;
  if (status.exitCode === undefined && reason === undefined)
    throw new SandboxError(
      "lost",
      `the sandbox vanished: ${stderr.bytes().toString("utf8").trim() || `bubblewrap ended with ${child.exitCode ?? child.signalCode}`}`,
    );

  const wallSeconds = (performance.now() - started) / 1000;
  const cpuLimit = limits.cpuSeconds ?? Number.POSITIVE_INFINITY;
  const ending = decode(reason === undefined ? status.exitCode! : KILLED);
  const overCpu =
    ending.signal === "SIGXCPU" || (ending.signal === "SIGKILL" && status.cpuSeconds > CPU_SURE * cpuLimit);
  return {
    ...ending,
    stdout: stdout.bytes(),
    stderr: stderr.bytes(),
    stdoutTruncated: stdout.truncated,
    stderrTruncated: stderr.truncated,
    timedOut: reason === "timeout",
    cpuExceeded: reason === "cpu" || (reason === undefined && overCpu),
    outOfMemory: reason === "memory",
    ...(reason === "processes" && { tooManyProcesses: true }),
    ...(reason === "disk" && { diskFull: true }),
    cpuSeconds: Math.max(status.cpuSeconds, seenCpuSeconds),
    wallSeconds,
  };
}

/** The kernel counts a process's limit by its clock ticks, /proc by exact times: they differ by some percent. */
const CPU_SURE = 0.8;

function brokenLimit(request: RunRequest, use: TreeUse): Reason | undefined {
  if (use.processes > request.processes + 1) return "processes";
  if (use.memoryBytes > request.memoryBytes) return "memory";
  if (use.cpuSeconds > (request.limits.cpuSeconds ?? Number.POSITIVE_INFINITY)) return "cpu";
  return request.diskFull() ? "disk" : undefined;
}

/**
 * Kills process 1 of the namespace, and with it all others. Before bwrap has said which that is, its death could leave
 * a child that does not yet die with its parent: the next look tries again.
 */
function killTree(child: ChildProcess, pid: number | undefined): void {
  if (pid === undefined || readStat(pid)?.parent !== child.pid) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It ended between the look and the signal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

interface Status {
  /** Host pid of process 1. */
  pid: number | undefined;
  onPid: () => void;
  exitCode: number | undefined;
  cpuSeconds: number;
}

/**
 * bwrap writes its child's pid, later its exit code. The code is written before bwrap ends and is read before Node
 * collects the dead process, so that /proc still tells what the whole tree used: bwrap has waited for process 1, which
 * waited for, or was the last parent of, all others.
 */
function readStatus(child: ChildProcess): Status {
  const status: Status = { pid: undefined, onPid: () => {}, exitCode: undefined, cpuSeconds: 0 };
  let text = "";
  (child.stdio[STATUS_FD] as Readable).on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    status.pid ??= numberAfter(text, "child-pid");
    if (status.pid !== undefined) status.onPid();
    status.exitCode = numberAfter(text, "exit-code");
    if (status.exitCode !== undefined) status.cpuSeconds = readStat(child.pid!)?.childrenCpuSeconds ?? 0;
  });
  return status;
}

function numberAfter(text: string, key: string): number | undefined {
  const digits = new RegExp(`"${key}": (\\d+)`).exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function collect(stream: Readable, limit: number): Collector {
  const collector = new Collector(limit);
  stream.on("data", (chunk: Buffer) => collector.push(chunk));
  return collector;
}
