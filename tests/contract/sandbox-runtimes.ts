/** The runtimes that keep the sandbox contract, each with its records in a folder it is given. */
import { join } from "node:path";
import {
  createDockerRuntime,
  createProcessRuntime,
  type SandboxRuntime,
} from "../../services/sandbox/index.ts";

export const contractRuntimes: Readonly<Record<SandboxRuntime["name"], (folder: string) => SandboxRuntime>> =
  {
    process: (folder) =>
      createProcessRuntime({ root: join(folder, "sand boxes"), nodePath: process.execPath }),
    docker: (folder) =>
      createDockerRuntime({ root: join(folder, "docker boxes"), nodePath: process.execPath }),
  };
