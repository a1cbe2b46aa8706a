/** A GPU worker with a trainer of its own: beside a running stack, or on a machine that has the addresses of one in its environment. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { prepareDataFolder } from "./data-folder.ts";
import { StackError } from "./errors.ts";
import { packageRoot } from "./paths.ts";
import { childEnvironment, MEMORY_FLAGS, stackMark } from "./processes.ts";
import { databaseUrl } from "./settings.ts";
import { readStack } from "./state.ts";
import { temporalFromEnv } from "./temporal.ts";

export interface GpuWorkerOptions {
  readonly trainer: string;
  readonly size: string;
  /** Trains on the processor. */
  readonly cpu: boolean;
  /** Ends once the update in hand is on record, instead of leaving it to the trainer and to the next worker. */
  readonly drain: boolean;
}

/** The variables of `workers/gpu.ts`. Throws StackError `settings`, which names what is missing. */
export function gpuWorkerEnvironment(
  folder: string,
  { trainer, size, cpu, drain }: GpuWorkerOptions,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return {
    ...env,
    ...addresses(folder, env),
    TADPOLE_DATA: folder,
    TADPOLE_TRAINER: trainer,
    TADPOLE_TRAINER_SIZE: size,
    TADPOLE_TRAINER_CPU: cpu ? "1" : "",
    TADPOLE_TRAINER_DRAIN: drain ? "1" : "",
  };
}

/** The environment's, else those of the stack of this folder; the worker then ends with that stack, as its trainer does. */
function addresses(folder: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const missing = ["TEMPORAL_ADDRESS", "DATABASE_URL"].filter((name) => !env[name]);
  temporalFromEnv(env);
  if (missing.length === 0) return {};
  const state = readStack(folder);
  if (state?.phase !== "running")
    throw new StackError(
      "settings",
      `${missing.join(" and ")}: expected the addresses of the stack to work for, or a stack that runs in ${folder} (tadpole up)`,
    );
  const settings = {
    temporal: state.temporal.external ? state.temporal : null,
    databaseUrl: state.postgres.external ? databaseUrl(state, env) : null,
    ports: {},
    versioning: state.versioning,
  };
  return {
    ...childEnvironment({ folder: state.dataFolder, ports: state.ports, settings, env }),
    [stackMark]: state.dataFolder,
  };
}

export function startGpuWorker(
  folder: string,
  options: GpuWorkerOptions,
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const environment = gpuWorkerEnvironment(folder, options, env);
  prepareDataFolder(folder);
  const entry = join(packageRoot, "workers/gpu.ts");
  return spawn(process.execPath, [...MEMORY_FLAGS, entry, folder], {
    cwd: packageRoot,
    env: environment,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
}
