/** The tree that a solver begins with, as texts: the environment's snapshot with a task's base in it, and without what that deletes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { textsOf } from "./changes.ts";
import { codeFiles } from "./checks/files.ts";

/** Reads a file of the tree; "" for one that the tree lacks, and for a path that is no file. `root` is the snapshot. */
export function baseText(root: string, base: readonly FileChange[]): (path: string) => string {
  const written = textsOf(base);
  const gone = goneOf(base);
  return (path) => written.get(path) ?? (gone.has(path) ? "" : onDisk(join(root, path)));
}

/** Texts by path: those of `paths`, which the snapshot has, and whatever the base writes. */
export function baseTexts(
  root: string,
  base: readonly FileChange[],
  paths: readonly string[],
): Map<string, string> {
  const gone = goneOf(base);
  const read = baseText(root, base);
  const kept = paths.filter((path) => !gone.has(path)).map((path) => [path, read(path)] as const);
  return new Map([...kept, ...textsOf(base)]);
}

/** The same of the snapshot's code, tests aside. */
export function baseCode(
  environment: Pick<PreparedEnvironment, "root" | "entry">,
  base: readonly FileChange[],
): Map<string, string> {
  return baseTexts(environment.root, base, codeFiles(environment));
}

/** Paths of every file of the snapshot. */
export function filesOf(root: string, below = ""): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return filesOf(root, path);
    return entry.isFile() ? [path] : [];
  });
}

const goneOf = (base: readonly FileChange[]): Set<string> =>
  new Set(base.filter(({ kind }) => kind === "delete").map(({ path }) => path));

function onDisk(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
