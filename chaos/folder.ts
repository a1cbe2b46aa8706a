/** The folder of two runs to be compared: their stacks go down with it, whatever ends them. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopStack } from "../infra/stack/index.ts";

export const RUNS = ["undisturbed", "disturbed"] as const;

/** Runs `work` in a new folder that holds one folder per run, and removes it unless it is to be kept. */
export async function inFolder<T>(keep: boolean, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "tadpole-chaos-")));
  const leave = async () => {
    for (const run of RUNS) await stopStack(join(folder, run, "data"));
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
