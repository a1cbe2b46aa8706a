/** The sandbox contract, run against the process runtime. */
import { join } from "node:path";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { sandboxContract } from "./sandbox.ts";

sandboxContract("process", (folder) =>
  createProcessRuntime({ root: join(folder, "sand boxes"), nodePath: process.execPath }),
);
