/** Folders that appear whole or not at all, below `<data>/environments`. */
import { randomBytes } from "node:crypto";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxRuntimeName } from "../../core/experiment.ts";

const TEMPORARY = ".tmp-";

/** A preparation takes seconds; a temporary folder this old has lost its process. */
const ABANDONED_MS = 3_600_000;

/**
 * The data folder of what was prepared in a runtime. An environment prepared in one says nothing of another: its tests have run with other programs.
 * So each has a folder of its own, but the same key for the same files: only what its tests say can differ between them. What was added is listed in the
 * data folder itself, for all of them.
 */
export function runtimeFolder(dataFolder: string, runtime: SandboxRuntimeName): string {
  return runtime === "process" ? dataFolder : join(dataFolder, runtime);
}

/** Where the environments of a data folder are kept. */
export function environmentsFolder(dataFolder: string): string {
  return join(dataFolder, "environments");
}

/** A path in `folder` that no other preparer uses; it never leaves the host. */
export function temporaryPath(folder: string, what: string): string {
  return join(folder, `${TEMPORARY}${what}-${randomBytes(6).toString("hex")}`);
}

/**
 * Moves a finished folder to its place. When another preparer's is there, that one stays and ours goes, unless `replace`: then what
 * is there is moved aside first, so that it is never half there.
 */
export async function moveIntoPlace(
  temporary: string,
  target: string,
  options: { readonly replace: boolean },
): Promise<void> {
  const aside = temporaryPath(join(target, ".."), "replaced");
  if (options.replace)
    await rename(target, aside).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  try {
    await rename(temporary, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  } finally {
    for (const path of [temporary, aside]) await rm(path, { recursive: true, force: true });
  }
}

/** Removes temporary folders whose process was killed. */
export async function removeAbandoned(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((candidate) => candidate.startsWith(TEMPORARY))) {
    const path = join(folder, name);
    // Its preparer may remove it at this moment.
    const changed = await stat(path).then(
      (info) => info.mtimeMs,
      () => now,
    );
    if (now - changed > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}
