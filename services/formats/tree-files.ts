/** The files of an environment's tree, read from its copy on the host without following a link. */
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import type { FileChange } from "../../core/task.ts";
import { contentOf } from "../sandbox/index.ts";
import type { TreeFile } from "./diff/index.ts";

/** Undefined where there is no file or link of that name, or a link stands above it. */
export function readTreeFile(root: string, path: string): TreeFile | undefined {
  let host = root;
  for (const part of path.split("/").slice(0, -1)) {
    host += `/${part}`;
    if (!lstatSync(host, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  }
  const file = `${root}/${path}`;
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return { kind: "symlink", target: readlinkSync(file) };
  if (!stat?.isFile()) return undefined;
  return { kind: "file", bytes: readFileSync(file), executable: (stat.mode & 0o100) !== 0 };
}

/** The file that a change makes; null for a deletion. */
export function fileOf(change: FileChange): TreeFile | null {
  if (change.kind === "delete") return null;
  if (change.kind === "symlink") return { kind: "symlink", target: change.target };
  return {
    kind: "file",
    bytes: contentOf(change),
    executable: change.executable === true,
  };
}

/** A tree with changes on top of it. */
export class LayeredTree {
  private readonly root: string;
  private readonly above = new Map<string, TreeFile | null>();

  constructor(root: string, changes: readonly FileChange[]) {
    this.root = root;
    for (const change of changes) this.above.set(change.path, fileOf(change));
  }

  read(path: string): TreeFile | undefined {
    const above = this.above.get(path);
    return above === undefined ? readTreeFile(this.root, path) : (above ?? undefined);
  }

  /** Those of `paths` that exist. */
  readAll(paths: readonly string[]): Map<string, TreeFile> {
    const found = new Map<string, TreeFile>();
    for (const path of paths) {
      const file = this.read(path);
      if (file !== undefined) found.set(path, file);
    }
    return found;
  }
}
