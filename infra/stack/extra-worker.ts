/** A worker of this checkout's code beside those of a running stack: it finishes what is pinned to its build. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { StackError } from "./errors.ts";
import { packageRoot } from "./paths.ts";
import { childEnvironment, MEMORY_FLAGS, stackMark } from "./processes.ts";
import { databaseUrl } from "./settings.ts";
import { readStack } from "./state.ts";

/** Ends with the stack, whose mark it carries. Throws StackError when no stack runs in the folder, or one whose workers have no versions. */
export function startExtraWorker(folder: string, env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const state = readStack(folder);
  if (state?.phase !== "running")
    throw new StackError("settings", `no stack runs in ${folder}; tadpole up starts one`);
  if (state.versioning === null)
    throw new StackError(
      "settings",
      "TADPOLE_WORKER_VERSIONING: expected a stack that was started with auto or pinned; without versions every worker takes every workflow's tasks",
    );
  const { ports, temporal } = state;
  const settings = {
    temporal: temporal.external ? temporal : null,
    databaseUrl: state.postgres.external ? databaseUrl(state, env) : null,
    ports: {},
    versioning: state.versioning,
  };
  const entry = join(packageRoot, "workers/orchestrate.ts");
  return spawn(process.execPath, [...MEMORY_FLAGS, entry, state.dataFolder], {
    cwd: packageRoot,
    env: {
      ...env,
      ...childEnvironment({ folder: state.dataFolder, ports, settings, env }),
      [stackMark]: state.dataFolder,
      TADPOLE_WORKER_VERSIONING: "pinned",
      TADPOLE_WORKER_DRAINS: "1",
      TADPOLE_METRICS_PORT: "",
    },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
}
