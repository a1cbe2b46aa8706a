/** Whether a disk has room for what is about to be begun on it. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { SandboxError } from "./runtime.ts";

const MEGABYTE = 2 ** 20;

/** Free bytes of the disk that `path` is on, or will be on: the nearest folder that exists counts. */
export async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
    return freeBytes(dirname(path));
  }
}

/** Throws SandboxError `disk` that names the path, what is free there and what is needed. `doing`: "booting a sandbox". */
export async function requireRoom(path: string, minFreeMb: number, doing: string): Promise<void> {
  const freeMb = (await freeBytes(path)) / MEGABYTE;
  if (freeMb < minFreeMb)
    throw new SandboxError(
      "disk",
      `${path} has ${Math.floor(freeMb)} MB of free disk, ${doing} needs ${minFreeMb} MB (TADPOLE_MIN_FREE_MB): free some, then resume; nothing was begun`,
    );
}
