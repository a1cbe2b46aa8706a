/** What a run leaves behind: sandboxes, processes, temporary files, database connections. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { hostOptions, readStack } from "../infra/stack/index.ts";
import { allPids, commandLine, descendants, processesWith, processStat } from "../infra/stack/proc.ts";
import { stackMark } from "../infra/stack/processes.ts";
import { createRuntime, type SandboxInfo } from "../services/sandbox/index.ts";
import type { Db } from "../services/store/index.ts";

/** For what winds up by itself: sandboxes in removal, idle connections (their pools keep them 10 s). */
const SETTLE_SECONDS = 30;

/** Counted once the experiment has ended, while its stack still serves. */
export interface LiveLeaks {
  /** Sandboxes whose holder is dead, or which are not a grader's warm ones: nobody runs in them any more. */
  readonly sandboxes: readonly string[];
  /** Processes of the stack that its supervisor does not know. */
  readonly processes: readonly string[];
  readonly connections: number;
}

/** Counted after the stack went down. */
export interface LastLeaks {
  readonly sandboxes: readonly string[];
  readonly processes: readonly string[];
  /** In the run's own TMPDIR, and half-written artifacts. */
  readonly temporary: readonly string[];
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function readJson<T>(file: string): Partial<T> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Partial<T>;
  } catch {
    return {};
  }
}

/** Beside sandboxes, whole or in the making or in removal, the runtime keeps what they mount (`.system-…`). */
const sandboxesOf = (folder: string) =>
  list(join(folder, "sandboxes")).filter((name) => !name.startsWith("."));

/** The slots, or the folder names where there is no label, of sandboxes that nobody uses. */
function idleSandboxes(folder: string): string[] {
  return sandboxesOf(folder).flatMap((name) => {
    const path = join(folder, "sandboxes", name);
    const { identity } = readJson<{ identity: { slot: string } }>(join(path, "label.json"));
    const owner = readJson<{ pid: number; startTicks: string }>(join(path, "owner.json"));
    const held =
      owner.pid !== undefined && String(processStat(owner.pid)?.startTicks) === String(owner.startTicks);
    return held && identity?.slot.startsWith("warm/") ? [] : [identity?.slot ?? name];
  });
}

/** Containers of the data folder, as its records and the daemon know them; the daemon is asked only where a container was ever made. */
async function containersOf(folder: string): Promise<readonly SandboxInfo[]> {
  if (!existsSync(join(folder, "docker", "sandboxes"))) return [];
  return createRuntime("docker", hostOptions(folder)).list(Date.now());
}

async function idleContainers(folder: string): Promise<string[]> {
  const isWarm = ({ state, identity }: SandboxInfo) => state === "live" && identity.slot.startsWith("warm/");
  return (await containersOf(folder)).filter((found) => !isWarm(found)).map(({ identity }) => identity.slot);
}

/** Commands of sandboxes carry no mark, but their command lines name the folder. */
function processesOf(folder: string): string[] {
  const marked = processesWith(stackMark, folder).map(({ pid }) => pid);
  const named = allPids().filter((pid) => pid !== process.pid && commandLine(pid).includes(`${folder}/`));
  return [...new Set([...marked, ...named])]
    .filter((pid) => (processStat(pid)?.state ?? "Z") !== "Z")
    .map((pid) => `${pid} ${commandLine(pid)}`);
}

function strays(folder: string): string[] {
  const supervisor = readStack(folder)?.supervisor.pid;
  const known = new Set(supervisor === undefined ? [] : descendants(supervisor));
  return processesOf(folder).filter((line) => !known.has(Number.parseInt(line, 10)));
}

async function connections(db: Db): Promise<number> {
  const found = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`.execute(
    db,
  );
  return found.rows[0]!.count;
}

/** Of a stack that serves, as it is at this moment, containers apart. */
export function abandoned(folder: string): Pick<LiveLeaks, "sandboxes" | "processes"> {
  return { sandboxes: idleSandboxes(folder), processes: strays(folder) };
}

/** Looks until nothing is left or the settle time is over; the last look counts. */
export async function liveLeaks(folder: string, db: Db, settleSeconds = SETTLE_SECONDS): Promise<LiveLeaks> {
  const deadline = Date.now() + settleSeconds * 1000;
  for (;;) {
    const { sandboxes, processes } = abandoned(folder);
    const leaks = {
      sandboxes: [...sandboxes, ...(await idleContainers(folder))],
      processes,
      connections: await connections(db),
    };
    const clean = leaks.sandboxes.length + leaks.processes.length + leaks.connections === 0;
    if (clean || Date.now() > deadline) return leaks;
    await sleep(500);
  }
}

export async function lastLeaks(folder: string, temporary: string): Promise<LastLeaks> {
  const containers = (await containersOf(folder)).map(({ identity, name }) => `${identity.slot} (${name})`);
  return {
    sandboxes: [...sandboxesOf(folder), ...containers],
    processes: processesOf(folder),
    temporary: [
      ...list(temporary),
      ...list(join(folder, "artifacts", "incoming")).map((name) => `artifacts/incoming/${name}`),
    ],
  };
}

/** A name without what is drawn anew each time: pids and counters, UUIDs and other long hexadecimal numbers, what `mkdtemp` appends. */
function patternOf(name: string): string {
  return name
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}/gi, "*")
    .replace(/(?<=[-_.])[A-Za-z0-9]{6}$/, "*")
    .replace(/\d+/g, "*");
}

/** Of `found`, the names whose pattern `usual` does not have, or has less often. */
export function unusualNames(usual: readonly string[], found: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const pattern of usual.map(patternOf)) left.set(pattern, (left.get(pattern) ?? 0) + 1);
  return found.filter((name) => {
    const more = left.get(patternOf(name)) ?? 0;
    left.set(patternOf(name), more - 1);
    return more <= 0;
  });
}
