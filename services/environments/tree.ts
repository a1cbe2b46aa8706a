/** Trees of small files in memory: reading, writing, hashing. */
import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EnvironmentError } from "./errors.ts";
import type { PreparedEnvironment } from "./types.ts";

/** Content by path, relative to the tree's root, with `/`. */
export type Tree = ReadonlyMap<string, Uint8Array>;

/** Every file has this time, so that no listing of a tree tells when it was prepared. It is the one npm gives packed files. */
const FILE_TIME = new Date("1985-10-26T08:15:00.000Z");

/** Reads every regular file below `folder` that `keep` accepts; folders it refuses are not entered. Throws on links and devices. */
export async function readTree(folder: string, keep: (path: string) => boolean = () => true): Promise<Tree> {
  const files = new Map<string, Uint8Array>();
  const visit = async (prefix: string): Promise<void> => {
    const names = (await readdir(join(folder, prefix))).sort();
    for (const name of names) {
      const path = prefix === "" ? name : `${prefix}/${name}`;
      if (!keep(path)) continue;
      const info = await lstat(join(folder, path));
      if (info.isDirectory()) await visit(path);
      else if (info.isFile()) files.set(path, await readFile(join(folder, path)));
      else throw new EnvironmentError("install", `${join(folder, path)}: neither a file nor a folder`);
    }
  };
  await visit("");
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const SCRIPT = Buffer.from("#!");
const ELF = Buffer.from("\x7fELF", "latin1");

/** What the system would run: trees keep no modes, so that a file's first bytes decide. */
export function isProgram(content: Uint8Array): boolean {
  return [SCRIPT, ELF].some((magic) => magic.equals(content.subarray(0, magic.length)));
}

/** Writes the tree with one time for all files and one mode; `programs`, the named ones or all that the system would run, can be run. */
export async function writeTree(
  tree: Tree,
  folder: string,
  options: { readonly programs?: boolean | ReadonlySet<string> } = {},
): Promise<void> {
  const { programs = false } = options;
  const canRun = (path: string, content: Uint8Array) =>
    typeof programs === "boolean" ? programs && isProgram(content) : programs.has(path);
  const folders = new Set<string>([folder]);
  for (const [path, content] of tree) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, content, { mode: canRun(path, content) ? 0o755 : 0o644 });
    await utimes(target, FILE_TIME, FILE_TIME);
    for (let at = dirname(target); at.length > folder.length; at = dirname(at)) folders.add(at);
  }
  await mkdir(folder, { recursive: true });
  for (const path of folders) await utimes(path, FILE_TIME, FILE_TIME);
}

/** sha256 (hex) over (path, length, content) of every file, in the order of paths. */
export function hashTree(tree: Tree): string {
  const hash = createHash("sha256");
  for (const [path, content] of [...tree].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path}\0${content.byteLength}\0`);
    hash.update(content);
  }
  return hash.digest("hex");
}

/** Text of every file of the untouched tree, by its path. */
export async function environmentFiles({
  root,
}: Pick<PreparedEnvironment, "root">): Promise<ReadonlyMap<string, string>> {
  const tree = await readTree(root);
  return new Map([...tree].map(([path, content]) => [path, Buffer.from(content).toString("utf8")]));
}
