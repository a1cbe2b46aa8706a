/** Reads a folder into memory as changes: bounded, links within it alone, bytes that are no UTF-8 as base64. */
import type { Stats } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import type { FileChange } from "../../../core/task.ts";
import { encode } from "../../sandbox/index.ts";
import { ImportError } from "../types.ts";

/** A folder becomes part of the task's record: larger data belongs into an image. */
export const FOLDER_LIMITS = { bytes: 64 * 1024 * 1024, files: 20_000 } as const;

const writeBytes = (path: string, bytes: Uint8Array, executable: boolean): FileChange => ({
  kind: "write",
  path,
  ...encode(bytes),
  ...(executable && { executable }),
});

/** Sorted by path, relative to `folder`. Throws ImportError that names the file as `field`, `<name>/<path>`. */
export async function readFolder(task: string, name: string): Promise<FileChange[]> {
  const folder = join(task, name);
  const changes: FileChange[] = [];
  let bytes = 0;
  const fail = (path: string, expected: string, found: string, kind: "field" | "size" = "field"): never => {
    throw new ImportError(
      kind,
      { file: task, field: path === "" ? name : `${name}/${path}` },
      expected,
      found,
    );
  };
  const file = async (path: string, info: Stats): Promise<void> => {
    bytes += info.size;
    if (bytes > FOLDER_LIMITS.bytes)
      fail("", `at most ${FOLDER_LIMITS.bytes} bytes in all`, `more, with ${path}`, "size");
    changes.push(writeBytes(path, await readFile(join(folder, path)), (info.mode & 0o111) !== 0));
  };
  const link = async (path: string): Promise<void> => {
    const target = await readlink(join(folder, path));
    const lands = normalize(join(dirname(path), target));
    if (target.startsWith("/") || lands === ".." || lands.startsWith("../"))
      fail(path, "a link to a file of the same folder", target);
    changes.push({ kind: "symlink", path, target });
  };
  const visit = async (prefix: string): Promise<void> => {
    for (const entry of (await readdir(join(folder, prefix))).sort()) {
      const path = prefix === "" ? entry : `${prefix}/${entry}`;
      if (path.includes("\uFFFD")) fail(path, "a name in UTF-8", "other bytes");
      if (changes.length >= FOLDER_LIMITS.files)
        fail("", `at most ${FOLDER_LIMITS.files} files`, "more", "size");
      const info = await lstat(join(folder, path));
      if (info.isDirectory()) await visit(path);
      else if (info.isSymbolicLink()) await link(path);
      else if (info.isFile()) await file(path, info);
      else fail(path, "a file, a folder or a link", "something else");
    }
  };
  await visit("");
  return changes;
}

/** Null where there is no such folder. Rules of .harborignore are refused: what they leave out would be graded with. */
export async function optionalFolder(task: string, name: string): Promise<FileChange[] | null> {
  const info = await lstat(join(task, name)).catch(() => null);
  if (info === null) return null;
  if (!info.isDirectory())
    throw new ImportError("field", { file: task, field: name }, "a folder", "something else");
  const files = await readFolder(task, name);
  const ignoring =
    name === "environment" ? undefined : files.find(({ path }) => basename(path) === ".harborignore");
  if (ignoring !== undefined)
    throw new ImportError("unsupported", { file: task, field: `${name}/${ignoring.path}` }, "none", "one");
  return files;
}

export const placed = (changes: readonly FileChange[], folder: string): FileChange[] =>
  changes.map((change) => ({ ...change, path: `${folder}/${change.path}` }));
