/**
 * An artifact folder as garbage collection sees it: what lies in it, and how a file leaves it. A file is taken out first, by one rename, and removed
 * later: in between it can still be read (`artifacts.ts`) and brought back, so that neither a reader nor a writer of the same content loses it.
 */
import { link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { artifactFiles } from "./artifacts.ts";

export interface StoredFile {
  readonly sha256: string;
  readonly bytes: number;
  /** When its content was last put, by the file system's clock. */
  readonly modifiedMs: number;
}

export interface FolderContent {
  readonly files: readonly StoredFile[];
  /** Taken out by a collection that did not come to its end. */
  readonly removing: readonly StoredFile[];
  /** Paths below the folder that no artifact has. */
  readonly unknown: readonly string[];
}

/** A store as garbage collection sees it. */
export interface ArtifactInventory {
  /**
   * False where what is put while it is taken out may be lost: nothing goes then while any workflow runs, and what was taken out comes back
   * where one has begun meanwhile.
   */
  readonly atomic: boolean;
  list(): Promise<FolderContent>;
  isStored(sha256: string): Promise<boolean>;
  takeOut(sha256: string, beforeMs: number): Promise<boolean>;
  bringBack(sha256: string): Promise<void>;
  removeTakenOut(sha256: string): Promise<void>;
}

export function folderInventory(folder: string): ArtifactInventory {
  return {
    atomic: true,
    list: () => listArtifacts(folder),
    isStored: (sha256) => isStored(folder, sha256),
    takeOut: (sha256, beforeMs) => takeOut(folder, sha256, beforeMs),
    bringBack: (sha256) => bringBack(folder, sha256),
    removeTakenOut: (sha256) => removeTakenOut(folder, sha256),
  };
}

const PREFIX = /^[0-9a-f]{2}$/;
const REST = /^[0-9a-f]{62}$/;
const WHOLE = /^[0-9a-f]{64}$/;

/** Undefined where it is gone, which any file may be at any moment. */
async function storedFile(path: string, sha256: string): Promise<StoredFile | undefined> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  return found?.isFile() ? { sha256, bytes: found.size, modifiedMs: found.mtimeMs } : undefined;
}

/** Whether the content is at its place, and not only on its way out. */
export async function isStored(folder: string, sha256: string): Promise<boolean> {
  return (await storedFile(artifactFiles(folder).content(sha256), sha256)) !== undefined;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  return names.sort();
}

export async function listArtifacts(folder: string): Promise<FolderContent> {
  const { content, removed } = artifactFiles(folder);
  const files: StoredFile[] = [];
  const removing: StoredFile[] = [];
  const unknown: string[] = [];
  const add = (list: StoredFile[], file: StoredFile | undefined) => file && list.push(file);
  for (const name of await namesIn(folder)) {
    if (name === "incoming") continue;
    const inside = await namesIn(join(folder, name));
    if (name === "removing") {
      for (const sha256 of inside)
        if (WHOLE.test(sha256)) add(removing, await storedFile(removed(sha256), sha256));
        else unknown.push(join(name, sha256));
    } else if (PREFIX.test(name)) {
      for (const rest of inside)
        if (REST.test(rest)) add(files, await storedFile(content(name + rest), name + rest));
        else unknown.push(join(name, rest));
    } else unknown.push(name);
  }
  return { files, removing, unknown };
}

/** Takes a file out unless it is as young as `beforeMs`; false = it stays where it was, or is gone. */
export async function takeOut(folder: string, sha256: string, beforeMs: number): Promise<boolean> {
  const { removing, content, removed } = artifactFiles(folder);
  const isOld = async (path: string) =>
    ((await storedFile(path, sha256))?.modifiedMs ?? Number.POSITIVE_INFINITY) < beforeMs;
  if (!(await isOld(content(sha256)))) return false;
  await mkdir(removing, { recursive: true });
  const taken = await rename(content(sha256), removed(sha256)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
  if (!taken) return false;
  // Put again between the look and the rename.
  if (await isOld(removed(sha256))) return true;
  await bringBack(folder, sha256);
  return false;
}

/** Idempotent; what was put anew in the meantime stays. */
export async function bringBack(folder: string, sha256: string): Promise<void> {
  const { content, removed } = artifactFiles(folder);
  await link(removed(sha256), content(sha256)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
  });
  await rm(removed(sha256), { force: true });
}

/** The end of a file that was taken out. */
export async function removeTakenOut(folder: string, sha256: string): Promise<void> {
  await rm(artifactFiles(folder).removed(sha256), { force: true });
}
