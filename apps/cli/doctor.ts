/** Looks at everything a run needs on this machine. Changes nothing but the data folder, which it makes where it is missing. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  dataFolder,
  freeMb,
  hostOptions,
  postgresPrograms,
  prepareDataFolder,
  readStack,
  stackPorts,
  stackSettings,
  stackStatus,
  temporalProgram,
} from "../../infra/stack/index.ts";
import { createRuntime, examineDocker } from "../../services/sandbox/index.ts";

const execute = promisify(execFile);

export interface Check {
  readonly name: string;
  /** `note`: worth knowing, and not every run needs it. */
  readonly result: "ok" | "missing" | "note";
  readonly detail: string;
}

/** Each resolves with what it found and throws an Error that says what is missing and how to get it. */
type Look = () => Promise<string> | string;

const wantedNode = 24;

export async function examine(env: NodeJS.ProcessEnv = process.env): Promise<readonly Check[]> {
  const folder = dataFolder(env);
  const needed: readonly (readonly [string, Look])[] = [
    ["node", node],
    ["npm", () => firstLine("npm", ["--version"])],
    ["temporal", () => temporal(env)],
    ["postgres", () => postgres(env)],
    ["sandbox", () => sandbox(folder, env)],
    ["data folder", () => prepareDataFolder(folder)],
    ["disk", () => disk(folder)],
    ["ports", () => ports(folder, env)],
    ["stack", () => stack(folder)],
  ];
  const checks = needed.map(([name, look]) => check(name, look, "missing"));
  return Promise.all([...checks, check("docker", () => docker(folder), "note")]);
}

async function check(name: string, look: Look, otherwise: "missing" | "note"): Promise<Check> {
  try {
    return { name, result: "ok", detail: await look() };
  } catch (error) {
    return { name, result: otherwise, detail: (error as Error).message };
  }
}

function node(): string {
  if (Number(process.versions.node.split(".")[0]) >= wantedNode) return process.version;
  throw new Error(`Node ${wantedNode} or newer is needed, this is ${process.version}; run npm ci`);
}

async function firstLine(file: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(file, [...args], { timeout: 60_000 });
  return stdout.split("\n")[0] ?? "";
}

async function temporal(env: NodeJS.ProcessEnv): Promise<string> {
  const settings = stackSettings(env);
  if (settings.temporal)
    return `elsewhere: ${settings.temporal.address}, namespace ${settings.temporal.namespace}`;
  const program = temporalProgram(env);
  return `${await firstLine(program, ["--version"])}, ${program}`;
}

async function postgres(env: NodeJS.ProcessEnv): Promise<string> {
  if (stackSettings(env).databaseUrl) return "elsewhere: DATABASE_URL";
  return firstLine((await postgresPrograms()).postgres, ["--version"]);
}

async function sandbox(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const reason = await createRuntime("process", hostOptions(folder, env)).unavailable();
  if (reason) throw new Error(reason);
  return `${await firstLine("bwrap", ["--version"])}, makes a sandbox`;
}

function disk(folder: string): string {
  return `${(freeMb(folder) / 1024).toFixed(1)} GiB free`;
}

async function ports(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const state = readStack(folder);
  const running = state?.phase === "running" || state?.phase === "starting";
  const chosen = running ? state.ports : await stackPorts(folder, env, state?.ports ?? null);
  const text = Object.entries(chosen).map(([name, port]) => `${name} ${port}`);
  return `${text.join(", ")}${running ? " (in use by the stack)" : ""}`;
}

function stack(folder: string): string {
  const { phase, processes } = stackStatus(folder);
  const sick = processes.find(({ problem }) => problem !== null);
  if (sick) throw new Error(`${sick.name}: ${sick.problem?.split("\n")[0]}`);
  if (phase === "running") return `running, ${processes.filter(({ pid }) => pid !== null).length} processes`;
  return phase === "starting" || phase === "stopping" ? phase : "not running; tadpole up starts it";
}

async function docker(folder: string): Promise<string> {
  try {
    return `${await examineDocker(prepareDataFolder(folder))}; for experiments with sandbox.runtime: docker`;
  } catch (error) {
    throw new Error(`${(error as Error).message}; only sandbox.runtime: docker needs it`);
  }
}
