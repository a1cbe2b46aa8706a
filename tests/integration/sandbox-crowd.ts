/** A process that holds many sandboxes and runs a command in each until it is killed; started by support/killed-crowd.ts. */
import type { SandboxRuntimeName } from "../../core/experiment.ts";
import { createRuntime } from "../../services/sandbox/index.ts";

const [runtimeName, dataFolder, source, count] = process.argv.slice(2);
const runtime = createRuntime(runtimeName as SandboxRuntimeName, {
  dataFolder: dataFolder!,
  nodePath: process.execPath,
});
const made = Array.from({ length: Number(count) }, async (_, n) => {
  const sandbox = await runtime.create(
    { root: source!, overlay: [], mounts: [], limits: { memoryMb: 128, processes: 16, diskMb: 16 }, env: {} },
    {
      experiment: "crowd",
      slot: `crowd/${n}`,
      attempt: 1,
      fence: "f",
      deadline: Date.now() + 600_000,
      adoptable: n % 2 === 0,
    },
  );
  sandbox.renew(Date.now());
  void sandbox.exec(["sleep", "300"], { timeoutSeconds: 300, outputBytes: 100 });
});
await Promise.all(made);
console.log("all run");
