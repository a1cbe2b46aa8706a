/** The runtimes of this host, by name. */
import { join } from "node:path";
import { SANDBOX_RUNTIMES, type SandboxRuntimeName } from "../../core/experiment.ts";
import { createProcessRuntime } from "./process/runtime.ts";
import { SandboxError, type SandboxRuntime } from "./runtime.ts";

export interface HostOptions {
  readonly dataFolder: string;
  /** The Node that runs inside. */
  readonly nodePath: string;
}

/** Nothing is started or looked at yet. */
export function createRuntime(
  name: SandboxRuntimeName,
  { dataFolder, nodePath }: HostOptions,
): SandboxRuntime {
  switch (name) {
    case "process":
      return createProcessRuntime({ root: join(dataFolder, "sandboxes"), nodePath });
    case "docker":
      throw new SandboxError("unavailable", "no docker runtime here");
  }
}

/** All of them, whether they work here or not. */
export const hostRuntimes = (options: HostOptions): readonly SandboxRuntime[] =>
  SANDBOX_RUNTIMES.slice(0, 1).map((name) => createRuntime(name, options));
