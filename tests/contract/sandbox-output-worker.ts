/**
 * A process of its own for the memory that a command's output costs: what a test runner does beside would count. Arguments: runtime, folder, the spec as
 * JSON. Its only message is what the command printed and was kept, and by how much the process grew over it, in bytes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { contractRuntimes } from "./sandbox-runtimes.ts";

export interface OutputCost {
  readonly kept: number;
  readonly truncated: boolean;
  readonly growth: number;
}

const OUTPUT_BYTES = 1e9;

/** From /proc/self/status, in bytes. */
const memory = (field: "VmRSS" | "VmHWM"): number =>
  Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"))![1]) *
  1024;

const [name, folder, spec] = process.argv.slice(2) as [keyof typeof contractRuntimes, string, string];
const identity = { experiment: "output", slot: "output", attempt: 1, fence: "output" };
const sandbox = await contractRuntimes[name](folder).create(JSON.parse(spec), {
  ...identity,
  deadline: Date.now() + 600_000,
});
try {
  const print = (bytes: number) =>
    sandbox.exec(["head", "-c", String(bytes), "/dev/zero"], { timeoutSeconds: 120, outputBytes: 1000 });
  // The code that reads output is there once, however much comes.
  await print(1e6);
  globalThis.gc?.();
  // The kernel's own high-water mark begins anew.
  writeFileSync("/proc/self/clear_refs", "5");
  const before = memory("VmRSS");
  const { stdout, stdoutTruncated: truncated } = await print(OUTPUT_BYTES);
  process.send!({ kept: stdout.length, truncated, growth: memory("VmHWM") - before } satisfies OutputCost);
} finally {
  await sandbox.destroy();
}
process.disconnect();
