/** The sandbox contract, run against the Docker runtime. Needs a daemon; where none answers, it fails and says how to start one. */
import { join } from "node:path";
import { createDockerRuntime } from "../../services/sandbox/index.ts";
import { sandboxContract } from "./sandbox.ts";

sandboxContract("docker", (folder) =>
  createDockerRuntime({ root: join(folder, "docker boxes"), nodePath: process.execPath }),
);
