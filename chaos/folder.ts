/** The folder of two runs to be compared: their stacks go down with it, whatever ends them. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostOptions, stopStack } from "../infra/stack/index.ts";
import { hostRuntimes, reapSandboxes } from "../services/sandbox/index.ts";

export const RUNS = ["undisturbed", "disturbed"] as const;

/** Runs `work` in a new folder that holds one folder per run, and removes it unless it is to be kept. */
export async function inFolder<T>(keep: boolean, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "tadpole-chaos-")));
  const leave = async () => {
    for (const run of RUNS) {
      const data = join(folder, run, "data");
      await stopStack(data);
      // Containers are found by records in the folder: without it nobody knows them.
      if (existsSync(data))
        await reapSandboxes(hostRuntimes(hostOptions(data)), { now: Date.now(), graceMs: 0, all: true });
    }
    if (keep) process.stderr.write(`kept: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  };
  const onSignal = () => void leave().finally(() => process.exit(1));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
  try {
    return await work(folder);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, onSignal);
    await leave();
  }
}
