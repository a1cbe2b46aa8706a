/** Changes of a tree: computed from two manifests, applied to a folder or to a manifest. No version control runs in the tree. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileChange } from "../../../core/task.ts";
import { SandboxError } from "../runtime.ts";
import { type Manifest, sha256, type TreeEntry } from "./manifest.ts";

/** What turns the tree `given` into the tree `now`, whose files lie under `root`; sorted by path. */
export const changesBetween = (given: Manifest, now: Manifest, root: string): FileChange[] =>
  changesOf(given, now, (path) => readFileSync(`${root}/${path}`));

/** The same where `read` gives the content of a file of `now`. */
export function changesOf(given: Manifest, now: Manifest, read: (path: string) => Uint8Array): FileChange[] {
  const deleted = [...given.keys()].filter((path) => !now.has(path));
  return [
    ...deleted.map((path): FileChange => ({ kind: "delete", path })),
    ...writtenPaths(given, now).map((path) => changeOf(path, now.get(path)!, read)),
  ].sort(byPath);
}

/** Paths of `now` that `given` does not have, or has otherwise. */
export const writtenPaths = (given: Manifest, now: Manifest): string[] =>
  [...now].filter(([path, entry]) => !sameEntry(given.get(path), entry)).map(([path]) => path);

const byPath = (a: FileChange, b: FileChange) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);

function sameEntry(a: TreeEntry | undefined, b: TreeEntry): boolean {
  if (a === undefined || a.type !== b.type) return false;
  if (a.type === "symlink") return a.target === (b as typeof a).target;
  const other = b as typeof a;
  return a.sha256 === other.sha256 && a.executable === other.executable;
}

function changeOf(path: string, entry: TreeEntry, read: (path: string) => Uint8Array): FileChange {
  if (entry.type === "symlink") return { kind: "symlink", path, target: entry.target };
  return {
    kind: "write",
    path,
    ...encode(read(path)),
    ...(entry.executable && { executable: true }),
  };
}

/** Text as it is when its bytes are UTF-8, base64 otherwise. */
export function encode(bytes: Uint8Array): { content: string; encoding: "utf8" | "base64" } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  if (Buffer.from(text, "utf8").equals(buffer)) return { content: text, encoding: "utf8" };
  return { content: buffer.toString("base64"), encoding: "base64" };
}

/** The bytes that a change writes; `encode` undone. */
export const contentOf = (change: FileChange & { kind: "write" }): Buffer =>
  Buffer.from(change.content, change.encoding);

/** Throws SandboxError `path` unless the path stays inside a tree: relative, no `..`, no empty part, no NUL. */
function checkPath(path: string): void {
  const parts = path.split("/");
  if (path.includes("\0") || parts.some((part) => part === "" || part === "." || part === ".."))
    throw new SandboxError("path", `not a path inside the tree: ${JSON.stringify(path)}`);
}

/**
 * Applies changes to a folder: deletions first, then the rest in order. A parent that is a link or a file is never
 * passed through. Throws SandboxError `path` for a change that does not apply.
 */
export function applyChanges(root: string, changes: readonly FileChange[]): void {
  for (const change of changes) checkPath(change.path);
  const deletions = changes.filter(({ kind }) => kind === "delete");
  // All are looked at before the first is done: a folder that one deletion empties is still named wrongly by another.
  for (const { path } of deletions) refuseFolder(root, path);
  for (const { path } of deletions) remove(root, path);
  for (const change of changes) {
    if (change.kind === "delete") continue;
    const host = `${root}/${change.path}`;
    makeParents(root, change.path);
    clear(host, change.path);
    if (change.kind === "symlink") symlinkSync(change.target, host);
    else {
      writeFileSync(host, contentOf(change), { flag: "wx" });
      chmodSync(host, change.executable ? 0o755 : 0o644);
    }
  }
}

/**
 * The manifest after the changes, computed without touching a disk. Throws SandboxError `path` where `applyChanges` would:
 * for a path outside the tree, a deletion that names a folder, a file below a file or link, a file in the place of a folder.
 */
export function applyToManifest(manifest: Manifest, changes: readonly FileChange[]): Manifest {
  const next = new Map(manifest);
  for (const { path } of changes) checkPath(path);
  const before = foldersOf(manifest);
  for (const { kind, path } of changes) {
    if (kind !== "delete") continue;
    if (before.has(path))
      throw new SandboxError("path", `a deletion names a folder, not a file: ${JSON.stringify(path)}`);
    next.delete(path);
  }
  for (const change of changes) {
    if (change.kind === "symlink") next.set(change.path, { type: "symlink", target: change.target });
    if (change.kind !== "write") continue;
    const content = contentOf(change);
    next.set(change.path, {
      type: "file",
      sha256: sha256(content),
      executable: change.executable === true,
      bytes: content.length,
    });
  }
  const after = foldersOf(next);
  for (const { path } of changes)
    if (next.has(path) && (after.has(path) || foldersAbove(path).some((folder) => next.has(folder))))
      throw new SandboxError("path", `a file and a folder would share a place: ${JSON.stringify(path)}`);
  return next;
}

const foldersOf = (manifest: Manifest): Set<string> => new Set([...manifest.keys()].flatMap(foldersAbove));

function foldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}

const present = (root: string, path: string) =>
  hasRealParents(root, path) ? lstatSync(`${root}/${path}`, { throwIfNoEntry: false }) : undefined;

function refuseFolder(root: string, path: string): void {
  if (present(root, path)?.isDirectory())
    throw new SandboxError("path", `a deletion names a folder, not a file: ${JSON.stringify(path)}`);
}

/** Removes a file and the folders it leaves empty, as a change of files alone would. */
function remove(root: string, path: string): void {
  if (present(root, path) === undefined) return;
  unlinkSync(`${root}/${path}`);
  for (let parent = parentOf(path); parent !== ""; parent = parentOf(parent)) {
    try {
      rmdirSync(`${root}/${parent}`);
    } catch {
      break;
    }
  }
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

function hasRealParents(root: string, path: string): boolean {
  const parts = path.split("/").slice(0, -1);
  let host = root;
  for (const part of parts) {
    host += `/${part}`;
    if (!lstatSync(host, { throwIfNoEntry: false })?.isDirectory()) return false;
  }
  return true;
}

/** Makes the folders above `path`; a link or file in the way is an error. */
export function makeParents(root: string, path: string): void {
  let host = root;
  for (const part of path.split("/").slice(0, -1)) {
    host += `/${part}`;
    const stat = lstatSync(host, { throwIfNoEntry: false });
    if (stat === undefined) mkdirSync(host);
    else if (!stat.isDirectory())
      throw new SandboxError("path", `a parent of ${JSON.stringify(path)} is not a folder`);
  }
}

/** Frees the name: a file or link is unlinked, an empty folder removed. */
function clear(host: string, path: string): void {
  const stat = lstatSync(host, { throwIfNoEntry: false });
  if (stat === undefined) return;
  try {
    if (stat.isDirectory()) rmdirSync(host);
    else unlinkSync(host);
  } catch (error) {
    throw new SandboxError("path", `a folder with files is in the way of ${JSON.stringify(path)}`, {
      cause: error,
    });
  }
}
