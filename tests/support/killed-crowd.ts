/** A worker that was killed while its sandboxes ran. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "../../infra/stack/index.ts";

interface Crowd {
  readonly runtime: string;
  readonly dataFolder: string;
  /** Folder that the sandboxes' trees are made of. */
  readonly source: string;
  readonly count: number;
}

/**
 * Resolves when the owner of `count` sandboxes, slots `crowd/<n>`, has been killed while a command ran in each; every second one is adoptable.
 * Throws when it ended by itself.
 */
export async function killedCrowd({ runtime, dataFolder, source, count }: Crowd): Promise<void> {
  const script = join(packageRoot, "tests/integration/sandbox-crowd.ts");
  const owner = spawn(process.execPath, [script, runtime, dataFolder, source, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => owner.once("exit", resolve));
  await Promise.race([new Promise((resolve) => owner.stdout.once("data", resolve)), ended]);
  if (owner.exitCode !== null) throw new Error(`the owner ended with exit code ${owner.exitCode}`);
  owner.kill("SIGKILL");
  await ended;
}
