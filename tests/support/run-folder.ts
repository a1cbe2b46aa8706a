/** What the test files of one run share: a folder in which each thing is made once, by whichever file needs it first. */
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    readonly runFolder: string;
  }
}

/** Vitest's global setup. */
export default async function runFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-run-"));
  // Postgres runs as a user of its own.
  await chmod(folder, 0o755);
  project.provide("runFolder", folder);
  return () => rm(folder, { recursive: true, force: true });
}

const POLL_MS = 50;

/** Path of the folder that `make` fills, once in a run. Where it fails it fails for everyone who wants it. */
export async function onceInRun(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject("runFolder"), name);
  const [done, failed] = [`${folder}.done`, `${folder}.failed`];
  try {
    await mkdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    while (!(await exists(done))) {
      if (await exists(failed)) throw new Error(`${name} could not be made: see the first test that failed`);
      await sleep(POLL_MS);
    }
    return folder;
  }
  try {
    await make(folder);
  } catch (error) {
    await writeFile(failed, "");
    throw error;
  }
  await writeFile(done, "");
  return folder;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
