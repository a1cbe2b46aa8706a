/** A process that makes a sandbox of the contract, runs a long command in it and waits to be killed; started by sandbox-life.ts. */
import { SandboxError, type SandboxIdentity, type SandboxSpec } from "../../services/sandbox/index.ts";
import { contractRuntimes } from "./sandbox-runtimes.ts";

const [name, folder, spec, identity] = process.argv.slice(2);
if (name !== "process" && name !== "docker") throw new SandboxError("unavailable", `no runtime ${name}`);
const sandbox = await contractRuntimes[name](folder!).create(
  JSON.parse(spec!) as SandboxSpec,
  JSON.parse(identity!) as SandboxIdentity,
);
await sandbox.write("kept", Buffer.from("kept"));
const running = sandbox.exec(["bash", "-c", "while :; do echo >> log; sleep 0.02; done"], {
  timeoutSeconds: 60,
  outputBytes: 100,
});
console.log("running");
await running;
