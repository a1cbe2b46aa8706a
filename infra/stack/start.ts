/** `ensureStack`: joins the stack of a data folder, or starts its daemon and waits until all of it serves. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { prepareDataFolder } from "./data-folder.ts";
import { StackError } from "./errors.ts";
import { lockHeldExitCode, packageRoot, stackFiles, supervisorEntry } from "./paths.ts";
import { stackPorts } from "./ports.ts";
import { checkAgainstRunning, checkExternal, stackSettings } from "./settings.ts";
import type { ProcessPhase, ProcessState, StackState } from "./state.ts";
import { isRunning, readStack } from "./state.ts";

/** Each process has its own limit, shorter than this; it is for a supervisor that hangs. */
const startSeconds = 300;

/** A supervisor first ends what an earlier one left, which may take some graces. */
const supervisorSeconds = 60;

export interface StackProgress {
  readonly process: string;
  readonly phase: ProcessPhase;
  readonly seconds: number;
  readonly problem: string | null;
}

export interface EnsureOptions {
  readonly dataFolder: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Called at each change of a process; not at all when the stack already serves. */
  readonly onProgress?: (progress: StackProgress) => void;
}

/** Idempotent, and safe to call twice at once. Throws StackError. */
export async function ensureStack(options: EnsureOptions): Promise<StackState> {
  const env = options.env ?? process.env;
  const folder = prepareDataFolder(options.dataFolder);
  const settings = stackSettings(env);
  const found = await afterStopping(folder);
  if (found && isRunning(found)) {
    checkAgainstRunning(found, settings);
    if (found.processes.every(serves)) return found;
    if (found.processes.some(({ phase }) => phase === "failed")) await retry(found);
    return untilServing(folder, null, options);
  }
  await checkExternal(settings);
  // The supervisor chooses again; asking here makes a port given by hand and occupied the caller's error at once.
  if (Object.keys(settings.ports).length > 0 && found?.phase !== "dead") await stackPorts(folder, env, null);
  return untilServing(folder, startSupervisor(folder, env), options);
}

function serves({ phase }: ProcessState): boolean {
  return phase === "ready" || phase === "external" || phase === "skipped";
}

/** A stack that is just going down is waited for. */
async function afterStopping(folder: string): Promise<StackState | null> {
  let state = readStack(folder);
  for (; state?.phase === "stopping"; state = readStack(folder)) await sleep(100);
  return state;
}

/** Asks the supervisor to start again what it has given up, and waits until it has begun. */
async function retry(state: StackState): Promise<void> {
  process.kill(state.supervisor.pid, "SIGHUP");
  for (let tries = 0; tries < 100; tries++) {
    if (readStack(state.dataFolder)?.processes.every(({ phase }) => phase !== "failed")) return;
    await sleep(20);
  }
}

function startSupervisor(folder: string, env: NodeJS.ProcessEnv): ChildProcess {
  const output = openSync(stackFiles(folder).supervisorOutput, "w");
  const nothing = openSync("/dev/null", "r+");
  // Besides 0–2 a shell or a test harness may have left descriptors open that a daemon must not hold.
  const stdio: (number | "ignore")[] = ["ignore", output, output];
  for (const descriptor of inheritedDescriptors()) {
    while (stdio.length < descriptor) stdio.push("ignore");
    stdio[descriptor] = nothing;
  }
  const child = spawn(process.execPath, [supervisorEntry, folder], {
    cwd: packageRoot,
    env: { ...env, TADPOLE_DATA: folder },
    detached: true,
    stdio,
  });
  child.unref();
  closeSync(output);
  closeSync(nothing);
  return child;
}

/** Descriptors above 2 that an exec would pass on (no close-on-exec flag). */
function inheritedDescriptors(): number[] {
  const closeOnExec = 0o2000000;
  return readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && descriptor < 1024)
    .filter((descriptor) => {
      try {
        const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8");
        const flags = Number.parseInt(/^flags:\s+(\d+)/m.exec(info)?.[1] ?? "", 8);
        return (flags & closeOnExec) === 0;
      } catch {
        // The descriptor that listed the folder is closed by now.
        return false;
      }
    });
}

async function untilServing(
  folder: string,
  supervisor: ChildProcess | null,
  { onProgress }: EnsureOptions,
): Promise<StackState> {
  const started = Date.now();
  const told = new Map<string, string>();
  for (;;) {
    const seconds = (Date.now() - started) / 1000;
    const state = readStack(folder);
    if (state && isRunning(state)) {
      for (const { name, phase, problem } of state.processes) {
        if (told.get(name) === phase) continue;
        told.set(name, phase);
        onProgress?.({ process: name, phase, seconds, problem });
      }
      if (state.processes.every(serves)) return state;
      const failed = state.processes.find(({ phase }) => phase === "failed");
      if (failed) throw failedProcess(failed);
    } else if (seconds > supervisorSeconds || (supervisor ? ended(supervisor) : seconds > 1)) {
      throw new StackError("failed", `the stack's supervisor does not run: ${supervisorWords(folder)}`);
    }
    if (seconds > startSeconds)
      throw new StackError("failed", `the stack is not ready after ${startSeconds} s; see tadpole status`);
    await sleep(50);
  }
}

function ended(supervisor: ChildProcess): boolean {
  if (supervisor.exitCode === lockHeldExitCode) return false;
  return supervisor.exitCode !== null || supervisor.signalCode !== null;
}

function failedProcess({ name, problem, log }: ProcessState): StackError {
  return new StackError("failed", `${name} does not stay up: ${problem}\nlog: ${log}`);
}

function supervisorWords(folder: string): string {
  const words = readFileSync(stackFiles(folder).supervisorOutput, "utf8")
    .trim()
    .split("\n")
    .slice(-8)
    .join("\n");
  return words || `see ${stackFiles(folder).logs}`;
}
