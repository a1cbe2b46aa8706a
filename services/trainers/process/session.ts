/**
 * The session of a trainer process: one folder, one process at a time. It outlives its worker: `launch.json` is the worker's note of what it
 * started, `session.json` what the process says of itself, `exit` how it ended, written by the shell that waits for it.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type SessionFile, TOKEN_VARIABLE } from "../protocol.ts";
import type { TrainerSession } from "../trainer.ts";
import { bootId, isRunning, type ProcessIdentity, startOf } from "./identity.ts";
import { readTail, withoutSecrets } from "./log.ts";

/** What decides whether a process that runs is the one that is wanted. */
export interface Wanted {
  readonly command: readonly string[];
  readonly session: TrainerSession;
}

interface Launch extends Wanted {
  /** The shell that waits for the trainer, and leads its process group. */
  readonly shell: ProcessIdentity;
  readonly boot: string;
  readonly token: string;
}

export interface TrainerProcess {
  readonly launch: Launch;
  /** Null while it does not listen yet. */
  session(): Promise<SessionFile | null>;
  running(): boolean;
}

export function sessionFiles(folder: string) {
  return {
    launch: join(folder, "launch.json"),
    session: join(folder, "session.json"),
    exit: join(folder, "exit"),
    log: join(folder, "trainer.log"),
    earlierLog: join(folder, "trainer.log.1"),
  };
}

/** The flags of protocol.ts. */
function sessionFlags(folder: string, session: TrainerSession): string[] {
  return [
    ...["--session", folder, "--dtype", session.dtype, "--pack-tokens", String(session.packTokens)],
    ...["--gradient-checkpointing", session.gradientCheckpointing ? "on" : "off"],
  ];
}

/** Runs the arguments and leaves their exit code in the file $0, which appears whole. */
const WAITING_SHELL = '"$@"; code=$?; echo "$code" > "$0.new" && mv "$0.new" "$0"; exit "$code"';

async function readJson<T>(file: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as T;
  } catch {
    return null;
  }
}

async function writeWhole(file: string, value: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

function processOf(folder: string, launch: Launch): TrainerProcess {
  return {
    launch,
    running: () => launch.boot === bootId() && isRunning(launch.shell),
    async session() {
      const found = await readJson<SessionFile>(sessionFiles(folder).session);
      if (found?.token !== launch.token) return null;
      return isRunning({ pid: found.pid, started: found.started }) ? found : null;
    },
  };
}

/** The process that a worker before this one started here; null where none of it runs any more. */
export async function findProcess(folder: string): Promise<TrainerProcess | null> {
  const launch = await readJson<Launch>(sessionFiles(folder).launch);
  if (launch === null) return null;
  const process = processOf(folder, launch);
  return process.running() ? process : null;
}

/** Starts it in a session of its own, so that no signal for the worker reaches it. Its log begins anew; the one before is kept. */
export async function startProcess(
  folder: string,
  { command, session }: Wanted,
  env: NodeJS.ProcessEnv,
): Promise<TrainerProcess> {
  const files = sessionFiles(folder);
  for (const file of [files.session, files.exit]) await rm(file, { force: true });
  await rename(files.log, files.earlierLog).catch(() => {});
  const token = randomBytes(16).toString("hex");
  const log = await open(files.log, "a", 0o600);
  try {
    const args = ["-c", WAITING_SHELL, files.exit, ...command, ...sessionFlags(folder, session)];
    const child = spawn("/bin/sh", args, {
      cwd: folder,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: { ...withoutSecrets(env), [TOKEN_VARIABLE]: token, PYTHONUNBUFFERED: "1" },
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    const shell = { pid: child.pid!, started: startOf(child.pid!) ?? 0 };
    const launch: Launch = { command, session, shell, boot: bootId(), token };
    await writeWhole(files.launch, launch);
    return processOf(folder, launch);
  } finally {
    await log.close();
  }
}

/** How the last process of the folder ended. */
export async function endingOf(
  folder: string,
): Promise<{ readonly code: number | null; readonly log: string }> {
  const files = sessionFiles(folder);
  const text = await readFile(files.exit, "utf8").catch(() => "");
  return { code: /^\d+\n$/.test(text) ? Number(text) : null, log: await readTail(files.log) };
}

/** A log that one process wrote over months is cut, its end kept beside it: the process appends, so it goes on at the new end. */
export async function cutLog(folder: string, bytes: number): Promise<void> {
  const { log, earlierLog } = sessionFiles(folder);
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= bytes) return;
  await writeFile(earlierLog, await readTail(log), { mode: 0o600 });
  await truncate(log);
}

/** Seconds a trainer has to end by itself: longer than its interpreter needs, shorter than a worker's patience. */
const GRACE_MS = 10_000;
const LOOK_MS = 25;

/** Ends all of it: the trainer by SIGTERM, and what is left of its group after a grace by SIGKILL. */
export async function endProcess(process: TrainerProcess): Promise<void> {
  const { shell } = process.launch;
  const session = await process.session();
  if (session !== null) signal(session.pid, "SIGTERM");
  else if (process.running()) signal(-shell.pid, "SIGTERM");
  const deadline = Date.now() + GRACE_MS;
  while (process.running() && Date.now() < deadline) await sleep(LOOK_MS);
  // Ranks that it started are of its group, and may be left when it is not.
  signal(-shell.pid, "SIGKILL");
  while (process.running()) await sleep(LOOK_MS);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    globalThis.process.kill(pid, name);
  } catch {
    // Gone already.
  }
}
