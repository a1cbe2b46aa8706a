/** Makes the data folder ready, or says in one line why it cannot be used. */
import { mkdirSync, readFileSync, renameSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../bootstrap/folder.mjs";
import { StackError } from "./errors.ts";
import { canonical, stackFiles } from "./paths.ts";

/** Raised when an older Tadpole could no longer read what this one writes. */
export const dataVersion = 1;

/** A quickstart writes about this much; below it Postgres would stop in the middle of a run. */
const neededMb = 256;

/** Creates the folder where needed and returns its canonical path. Refuses a newer version before writing anything. */
export function prepareDataFolder(folder: string): string {
  const path = createFolder(folder);
  const found = readVersion(path);
  if (found !== null && found > dataVersion)
    throw new StackError(
      "version",
      `${stackFiles(path).version}: version ${found} is newer than this Tadpole's (${dataVersion}); use the newer Tadpole, or another folder by TADPOLE_DATA`,
    );
  checkWritable(path);
  const free = freeMb(path);
  if (free < neededMb)
    throw new StackError(
      "disk",
      `${path}: ${Math.floor(free)} MB of disk are free, at least ${neededMb} MB are needed`,
    );
  if (found !== dataVersion) {
    const file = stackFiles(path).version;
    writeFileSync(`${file}.new`, `${JSON.stringify({ version: dataVersion })}\n`);
    renameSync(`${file}.new`, file);
  }
  mkdirSync(stackFiles(path).logs, { recursive: true });
  return path;
}

/** Space an unprivileged process may still use, in MiB. */
export function freeMb(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return (bavail * bsize) / 2 ** 20;
}

function createFolder(folder: string): string {
  try {
    makeFolder(folder);
  } catch (error) {
    throw unusable(folder, error);
  }
  return canonical(folder);
}

function checkWritable(folder: string): void {
  const probe = join(folder, `.probe-${process.pid}`);
  try {
    writeFileSync(probe, "probe");
    rmSync(probe);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC")
      throw new StackError("disk", `${folder}: the disk is full`, { cause: error });
    throw unusable(folder, error);
  }
}

function unusable(folder: string, error: unknown): StackError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new StackError(
    "data-folder",
    `TADPOLE_DATA: ${folder} is not a writable folder (${code ?? message}); expected one this user may write to`,
    { cause: error },
  );
}

/** Null when the folder is new. */
function readVersion(folder: string): number | null {
  const file = stackFiles(folder).version;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unusable(folder, error);
  }
  try {
    const { version } = JSON.parse(text) as { version?: unknown };
    if (Number.isInteger(version)) return version as number;
  } catch {}
  throw new StackError("version", `${file}: expected {"version": NUMBER}, got ${text.slice(0, 60).trim()}`);
}
