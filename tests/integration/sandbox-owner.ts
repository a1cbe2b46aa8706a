/** A process that makes a sandbox, runs a long command in it and waits to be killed; started by sandbox.test.ts. */
import { createProcessRuntime } from "../../services/sandbox/index.ts";

const [root, source, marker] = process.argv.slice(2);
const runtime = createProcessRuntime({ root: root!, nodePath: process.execPath });
const sandbox = await runtime.create(
  { root: source!, overlay: [], mounts: [], limits: { memoryMb: 256, processes: 32, diskMb: 32 }, env: {} },
  { experiment: "owner", slot: "s", attempt: 1, fence: "f", deadline: Date.now() + 600_000 },
);
await sandbox.write("kept", Buffer.from("kept"));
const running = sandbox.exec(["bash", "-c", `echo ready > /tmp/ready; sleep ${marker}`], {
  timeoutSeconds: 60,
  outputBytes: 100,
});
console.log("running");
await running;
