/** Looks at everything a run needs on this machine. Changes nothing but the data folder, which it makes where it is missing. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ExperimentSettings } from "../../core/experiment.ts";
import {
  connectTemporal,
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
import { queryOnce } from "../../infra/stack/postgres.ts";
import { describeDatabase } from "../../infra/stack/settings.ts";
import { createRuntime, examineDocker } from "../../services/sandbox/index.ts";
import { describeArtifacts } from "../../services/store/index.ts";
import { experimentLooks, gpus, type Look, type NamedLook, pythonLane } from "./doctor-gpu.ts";

const execute = promisify(execFile);

export interface Check {
  readonly name: string;
  /** `note`: worth knowing, and not every run needs it. */
  readonly result: "ok" | "missing" | "note";
  readonly detail: string;
}

const wantedNode = 24;

/** `settings`: also what this experiment needs. */
export async function examine(
  env: NodeJS.ProcessEnv = process.env,
  settings?: ExperimentSettings,
): Promise<readonly Check[]> {
  const folder = dataFolder(env);
  const needed: readonly NamedLook[] = [
    ["node", node],
    ["npm", () => firstLine("npm", ["--version"])],
    ["temporal", () => temporal(env)],
    ["postgres", () => postgres(env)],
    ["sandbox", () => sandbox(folder, env)],
    ["data folder", () => prepareDataFolder(folder)],
    ["artifacts", () => describeArtifacts(prepareDataFolder(folder), env)],
    ["disk", () => disk(folder)],
    ["ports", () => ports(folder, env)],
    ["stack", () => stack(folder)],
    ...(settings ? experimentLooks(settings, seenTemporal(folder, env), env) : []),
  ];
  const others: readonly NamedLook[] = [
    ["docker", () => docker(folder)],
    ["gpu", gpus],
    ["python", () => pythonLane(env)],
  ];
  return Promise.all([
    ...needed.map(([name, look]) => check(name, look, "missing")),
    ...others.map(([name, look]) => check(name, look, "note")),
  ]);
}

/** The server of the environment, else that of the stack which runs in the folder. */
function seenTemporal(folder: string, env: NodeJS.ProcessEnv) {
  const state = readStack(folder);
  return stackSettings(env).temporal ?? (state?.phase === "running" ? state.temporal : null);
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
  if (settings.temporal) {
    const { address, namespace } = settings.temporal;
    const { client, connection } = await connectTemporal(settings.temporal);
    try {
      await client.workflowService.describeNamespace({ namespace });
      return `elsewhere: ${address}, namespace ${namespace}`;
    } catch (error) {
      throw new Error(
        `${address} answers, but not for namespace ${namespace} (${(error as Error).message}): are TEMPORAL_NAMESPACE and TEMPORAL_API_KEY right?`,
      );
    } finally {
      await connection.close();
    }
  }
  const program = temporalProgram(env);
  return `${await firstLine(program, ["--version"])}, ${program}`;
}

async function postgres(env: NodeJS.ProcessEnv): Promise<string> {
  const { databaseUrl } = stackSettings(env);
  if (databaseUrl) {
    const { host, database } = describeDatabase(databaseUrl);
    await queryOnce(databaseUrl, "select 1").catch((error: Error) => {
      throw new Error(
        `${host}/${database} does not answer (${error.message}): is DATABASE_URL right, and does it run?`,
      );
    });
    return `elsewhere: ${host}/${database}`;
  }
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
