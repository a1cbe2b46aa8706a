/** torch.save and torch.load of a batch, timed inside a Python process that has everything imported. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BenchContext } from "../bench.ts";

export interface TorchTimes {
  /** Seconds. */
  readonly write: number;
  readonly read: number;
  /** Of the file. */
  readonly bytes: number;
}

/** The Python of `npm run gpu-path:install`; null where torch is not installed. */
export function torchPython(env: NodeJS.ProcessEnv = process.env): string | null {
  const folder = env.TADPOLE_GPU_PATH || join(env.HOME || homedir(), ".cache/tadpole/gpu-path");
  return existsSync(join(folder, "installed.json")) ? join(folder, "venv/bin/python") : null;
}

/**
 * `stem`: raw files of the batch's columns, as `throughRawFiles` writes them. `lists`: numbers as Python's own, as slime's samples have them. Each call saves
 * and loads the batch once.
 */
export async function torchRounds(
  context: BenchContext,
  python: string,
  stem: string,
  form: "tensors" | "lists",
): Promise<() => Promise<TorchTimes>> {
  const child = spawn(python, [join(import.meta.dirname, "torch_batch.py"), stem, form], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, OMP_NUM_THREADS: "1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  context.defer(() => child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the Python process that measures torch has ended");
    return JSON.parse(value) as unknown;
  };
  context.progress(`torch ${await line()}`);
  return async () => {
    child.stdin.write("again\n");
    return (await line()) as TorchTimes;
  };
}
