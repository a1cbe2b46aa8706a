/** Brings the catalogue's packages from the registry into the data folder, once per lockfile. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Catalogue } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, moveIntoPlace, removeAbandoned, temporaryPath } from "./folders.ts";
import { hashTree, readTree } from "./tree.ts";

/** Beside node_modules: the hash of what npm put there, when it had just checked every tarball. */
const HASH_FILE = "sha256";

/** Installations this process has compared with their hash. */
const checked = new Set<string>();

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

/** npm's links to programs are no part of any package. */
function hashInstalled(target: string): Promise<string> {
  return readTree(join(target, "node_modules"), (path) => !/(^|\/)\.bin$/.test(path)).then(hashTree);
}

/** True when the installation is there and is still what npm had checked. */
async function isWhole(target: string): Promise<boolean> {
  if (!existsSync(join(target, HASH_FILE))) return false;
  if (checked.has(target)) return true;
  const expected = await readFile(join(target, HASH_FILE), "utf8");
  const whole = await hashInstalled(target).then(
    (hash) => hash === expected,
    () => false,
  );
  if (whole) checked.add(target);
  return whole;
}

/**
 * Installs the catalogue's lockfile and returns the folder's `node_modules`. Nothing a package ships is run. Safe to call
 * from several processes at once: each works in a folder of its own and the first one's result stays. An installation that
 * was changed since is made again.
 */
export async function installCatalogue(
  catalogue: Catalogue,
  dataFolder: string,
  options: { readonly signal?: AbortSignal; readonly log?: (line: string) => void } = {},
): Promise<string> {
  const folder = environmentsFolder(dataFolder);
  const target = join(folder, `modules-${catalogue.lockHash.slice(0, 12)}`);
  const modules = join(target, "node_modules");
  await removeAbandoned(folder, Date.now());
  if (await isWhole(target)) return modules;
  options.log?.(`installing the packages of ${join(catalogue.folder, "package-lock.json")}`);
  const temporary = temporaryPath(folder, "modules");
  try {
    await mkdir(temporary, { recursive: true });
    for (const name of ["package.json", "package-lock.json"])
      await copyFile(join(catalogue.folder, name), join(temporary, name));
    await npmCi(temporary, options.signal);
    await writeFile(join(temporary, HASH_FILE), await hashInstalled(temporary));
    await moveIntoPlace(temporary, target, { replace: !(await isWhole(target)) });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return modules;
}
