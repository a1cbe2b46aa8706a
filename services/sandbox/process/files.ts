/** The file calls of a sandbox, made on the host's side of its folders. No process of the sandbox runs meanwhile. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { MAX_READ_BYTES, relativeTo, WORKDIR } from "../inside.ts";
import type { FileEntry } from "../runtime.ts";
import { PosixError, type Root, resolvePath } from "../tree/resolve.ts";

/** Thrown when only a command inside can answer. */
export class OutsideRoots extends Error {
  readonly inside: string;
  constructor(inside: string) {
    super(`${inside} is not kept in a folder of the sandbox`);
    this.inside = inside;
  }
}

export function readHostFile(roots: readonly Root[], path: string): Buffer {
  const place = resolvePath(roots, WORKDIR, path);
  if (place.kind === "outside") throw new OutsideRoots(place.inside);
  if (place.missing > 0) throw new PosixError("ENOENT", path);
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const fd = openSync(place.host, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (stat.isDirectory()) throw new PosixError("EISDIR", path);
    if (!stat.isFile()) throw new PosixError("EINVAL", path);
    if (stat.size > MAX_READ_BYTES) throw new PosixError("EFBIG", path);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** `room` is how many bytes may be added before the disk is full. */
export function writeHostFile(roots: readonly Root[], path: string, bytes: Uint8Array, room: number): void {
  const place = resolvePath(roots, WORKDIR, path);
  if (place.kind === "outside" || !place.root.writable) throw new PosixError("EROFS", path);
  if (bytes.length > room) throw new PosixError("ENOSPC", path);
  if (path.endsWith("/")) throw new PosixError("EISDIR", path);
  if (place.missing > 1) {
    const parts = place.host.split("/");
    for (let cut = parts.length - place.missing + 1; cut < parts.length; cut++)
      mkdirSync(parts.slice(0, cut).join("/"));
  }
  if (place.missing > 0) {
    writeFileSync(place.host, bytes, { flag: "wx" });
    return;
  }
  const stat = lstatSync(place.host);
  if (stat.isDirectory()) throw new PosixError("EISDIR", path);
  if (!stat.isFile()) throw new PosixError("EINVAL", path);
  const fd = openSync(place.host, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    writeFileSync(fd, bytes);
  } finally {
    closeSync(fd);
  }
}

export function statHostFile(roots: readonly Root[], path: string) {
  let place: ReturnType<typeof resolvePath>;
  try {
    place = resolvePath(roots, WORKDIR, path);
  } catch (error) {
    if (error instanceof PosixError) return null;
    throw error;
  }
  if (place.kind === "outside") throw new OutsideRoots(place.inside);
  if (place.missing > 0) return null;
  const stat = statSync(place.host);
  const type = stat.isFile()
    ? ("file" as const)
    : stat.isDirectory()
      ? ("directory" as const)
      : ("other" as const);
  return { type, bytes: stat.size };
}

/** Mount points below `path` are listed and not looked into. */
export function listHostFiles(roots: readonly Root[], path: string): FileEntry[] {
  const place = resolvePath(roots, WORKDIR, path);
  if (place.kind === "outside") throw new OutsideRoots(place.inside);
  if (place.missing > 0) throw new PosixError("ENOENT", path);
  if (!lstatSync(place.host).isDirectory()) throw new PosixError("ENOTDIR", path);
  const mounts = new Set(roots.map((root) => root.at));
  const entries: FileEntry[] = [];
  const folders = [{ host: place.host, inside: place.inside }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const item of readdirSync(folder.host, { withFileTypes: true })) {
      const inside = `${folder.inside}/${item.name}`;
      if (item.isDirectory()) {
        entries.push({ path: relativeTo(WORKDIR, inside), type: "directory" });
        if (!mounts.has(inside)) folders.push({ host: `${folder.host}/${item.name}`, inside });
      } else if (item.isFile()) entries.push({ path: relativeTo(WORKDIR, inside), type: "file" });
      else if (item.isSymbolicLink()) entries.push({ path: relativeTo(WORKDIR, inside), type: "symlink" });
    }
  }
  return entries;
}

export interface DiskUse {
  readonly bytes: number;
  readonly entries: number;
}

/** Blocks in use below the folders, mounts apart. */
export function diskUse(folders: readonly string[]): DiskUse {
  let bytes = 0;
  let entries = 0;
  const queue = [...folders];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    for (const item of listFolder(folder)) {
      entries++;
      const path = `${folder}/${item.name}`;
      if (item.isDirectory()) queue.push(path);
      else bytes += (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
    }
  }
  return { bytes, entries };
}

function listFolder(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return []; // gone, or closed by its owner: the next look will tell
  }
}
