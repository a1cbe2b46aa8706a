/** Brings the catalogue's packages from the registry into the data folder, once per lockfile. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Catalogue } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";

/** Where the environments of a data folder are kept. */
export function environmentsFolder(dataFolder: string): string {
  return join(dataFolder, "environments");
}

/** A name no other preparer uses; it never leaves the host. */
export function temporaryName(folder: string, what: string): string {
  return join(folder, `.tmp-${what}-${randomBytes(6).toString("hex")}`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Moves a finished folder to its place; when another preparer was first, theirs stays and ours goes. */
export async function moveIntoPlace(temporary: string, target: string): Promise<void> {
  try {
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

function npmCi(folder: string, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--prefer-offline"];
    const child = spawn("npm", ["ci", ...flags], {
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
      ...(signal === undefined ? {} : { signal }),
    });
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints = (complaints + text).slice(-4000);
    });
    child.on("error", (cause: NodeJS.ErrnoException) => {
      if (signal?.aborted) return reject(signal.reason);
      const why = cause.code === "ENOENT" ? "npm is not on PATH" : cause.message;
      reject(new EnvironmentError("install", `npm ci could not be started: ${why}`, { cause }));
    });
    child.on("close", (code) => {
      if (code === 0) return resolve();
      if (signal?.aborted) return reject(signal.reason);
      reject(new EnvironmentError("install", `npm ci ended with ${code}:\n${complaints.trim()}`));
    });
  });
}

/**
 * Installs the catalogue's lockfile and returns the folder's `node_modules`. Nothing a package ships is run. Safe to call
 * from several processes at once: each works in a folder of its own and the first one's result stays.
 */
export async function installCatalogue(
  catalogue: Catalogue,
  dataFolder: string,
  options: { readonly signal?: AbortSignal; readonly log?: (line: string) => void } = {},
): Promise<string> {
  const folder = environmentsFolder(dataFolder);
  const target = join(folder, `modules-${catalogue.lockHash.slice(0, 12)}`);
  const modules = join(target, "node_modules");
  if (await exists(modules)) return modules;
  options.log?.(`installing the packages of ${join(catalogue.folder, "package-lock.json")}`);
  const temporary = temporaryName(folder, "modules");
  try {
    await mkdir(temporary, { recursive: true });
    for (const name of ["package.json", "package-lock.json"])
      await copyFile(join(catalogue.folder, name), join(temporary, name));
    await npmCi(temporary, options.signal);
    await moveIntoPlace(temporary, target);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return modules;
}
