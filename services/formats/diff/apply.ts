/** Applies file patches to files of a tree, as strictly as `git apply` does: the place of a hunk may move, its context may not differ. Pure. */
import { createHash } from "node:crypto";
import type { FileChange } from "../../../core/task.ts";
import { encode } from "../../sandbox/index.ts";
import { applyDelta } from "./binary.ts";
import { DiffError, type FilePatch, type Hunk, type TreeFile } from "./types.ts";

/** Paths whose content `applyDiff` wants to know, sorted. */
export function pathsOf(patches: readonly FilePatch[]): string[] {
  return [...new Set(patches.flatMap(({ oldPath, newPath }) => [oldPath, newPath]))].sort();
}

/**
 * What the patches change, as whole files sorted by path. `files` has those of `pathsOf` that exist. Throws DiffError `apply`, naming file and
 * hunk, and nothing is changed then.
 */
export function applyDiff(files: ReadonlyMap<string, TreeFile>, patches: readonly FilePatch[]): FileChange[] {
  const after = new Map<string, TreeFile | null>();
  const current = (path: string) => (after.has(path) ? after.get(path)! : (files.get(path) ?? null));
  // A swap of two files moves each onto the other: the target's present content is gone by the end.
  const leaves = new Set(
    patches.filter(({ kind }) => kind === "rename" || kind === "delete").map(({ oldPath }) => oldPath),
  );
  for (const patch of patches) {
    const { kind, oldPath, newPath } = patch;
    const moved = kind === "rename" || kind === "copy";
    // Renames and copies of one diff do not depend on its order: all begin with the tree as it was.
    const before = (moved ? files.get(oldPath) : undefined) ?? current(oldPath);
    if (kind === "create") {
      if (before !== null && !(leaves.has(newPath) && !after.has(newPath)))
        throw new DiffError("apply", "the file that it creates is there already", newPath);
      after.set(newPath, patched(null, patch));
      continue;
    }
    if (before === null) throw new DiffError("apply", "the file that it changes is not there", oldPath);
    const result = patched(before, patch);
    if (kind === "delete") {
      if (sizeOf(result) > 0)
        throw new DiffError("apply", "the file that it deletes has other content", oldPath);
      after.set(oldPath, null);
      continue;
    }
    if (moved && newPath !== oldPath && current(newPath) !== null && !leaves.has(newPath))
      throw new DiffError("apply", "the file that it creates is there already", newPath);
    if (kind === "rename" && !(after.has(oldPath) && after.get(oldPath) !== null)) after.set(oldPath, null);
    after.set(newPath, result);
  }
  return changesOf(files, after);
}

function changesOf(
  files: ReadonlyMap<string, TreeFile>,
  after: ReadonlyMap<string, TreeFile | null>,
): FileChange[] {
  const changes: FileChange[] = [];
  for (const path of [...after.keys()].sort((a, b) => (a < b ? -1 : 1))) {
    const [was, is] = [files.get(path), after.get(path) ?? null];
    if (is === null) {
      if (was !== undefined) changes.push({ kind: "delete", path });
    } else if (was === undefined || !same(was, is)) changes.push(changeOf(path, is));
  }
  return changes;
}

function changeOf(path: string, file: TreeFile): FileChange {
  if (file.kind === "symlink") return { kind: "symlink", path, target: file.target };
  return { kind: "write", path, ...encode(file.bytes), ...(file.executable && { executable: true }) };
}

function same(a: TreeFile, b: TreeFile): boolean {
  if (a.kind === "symlink" || b.kind === "symlink")
    return a.kind === b.kind && (a as { target: string }).target === (b as { target: string }).target;
  return a.executable === b.executable && a.bytes.equals(b.bytes);
}

const sizeOf = (file: TreeFile): number => (file.kind === "symlink" ? file.target.length : file.bytes.length);

/** The file after its patch; for a deletion, what is left of it. */
function patched(before: TreeFile | null, patch: FilePatch): TreeFile {
  const { newPath: path, newMode, oldMode, binary, hunks } = patch;
  const wasLink = before?.kind === "symlink";
  if (before !== null && oldMode !== null && (oldMode === "120000") !== wasLink)
    throw new DiffError("apply", `expected a ${wasLink ? "file" : "link"}, found the other`, path);
  const content =
    before === null ? Buffer.alloc(0) : before.kind === "symlink" ? Buffer.from(before.target) : before.bytes;
  const bytes = binary === null ? patchText(content, hunks, path) : patchBinary(content, patch);
  const isLink = newMode === null ? wasLink : newMode === "120000";
  if (isLink) return { kind: "symlink", target: bytes.toString("utf8") };
  const executable =
    newMode === null
      ? before?.kind === "file" && before.executable
      : (Number.parseInt(newMode, 8) & 0o100) !== 0;
  return { kind: "file", bytes, executable };
}

function patchBinary(content: Buffer, { kind: change, binary, oldPath, newPath }: FilePatch): Buffer {
  if (change !== "create" && binary!.oldBlob !== null && blobOf(content) !== binary!.oldBlob)
    throw new DiffError("apply", "a binary change that was made of other content", oldPath);
  const { kind, bytes } = binary!.forward;
  return kind === "literal" ? bytes : applyDelta(content, bytes, newPath);
}

const blobOf = (content: Buffer): string =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");

interface Line {
  readonly text: string;
  /** Written by an earlier hunk: no later one may begin in it. */
  readonly patched: boolean;
}

function patchText(content: Buffer, hunks: readonly Hunk[], path: string): Buffer {
  if (hunks.length === 0) return content;
  let lines: Line[] = splitLines(content.toString("latin1")).map((text) => ({ text, patched: false }));
  for (const [index, hunk] of hunks.entries()) {
    const before = hunk.lines.filter(({ kind }) => kind !== "add").map(({ text }) => text);
    const at = placeOf(lines, hunk, before);
    if (at === null)
      throw new DiffError(
        "apply",
        `its lines are not in the file (looked for around line ${hunk.oldStart})`,
        path,
        index + 1,
      );
    const after = hunk.lines
      .filter(({ kind }) => kind !== "remove")
      .map(({ text }) => ({ text, patched: true }));
    lines = [...lines.slice(0, at), ...after, ...lines.slice(at + before.length)];
  }
  return Buffer.from(lines.map(({ text }) => text).join(""), "latin1");
}

const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Index of the first line of the hunk's place: the nearest to where its header says; null where there is none. */
function placeOf(lines: readonly Line[], hunk: Hunk, before: readonly string[]): number | null {
  const last = lines.length - before.length;
  if (last < 0) return null;
  // A hunk that lacks context on a side was made at that end of the file.
  const atStart = hunk.oldStart <= 1;
  const atEnd = hunk.lines.at(-1)?.kind !== "context";
  const fits = (at: number) =>
    at >= 0 &&
    at <= last &&
    (!atStart || at === 0) &&
    (!atEnd || at === last) &&
    before.every((text, offset) => {
      const line = lines[at + offset]!;
      return !line.patched && line.text === text;
    });
  const guess = Math.min(atStart ? 0 : atEnd ? last : Math.max(0, hunk.newStart - 1), lines.length);
  for (let distance = 0; distance <= lines.length; distance++)
    for (const at of distance === 0 ? [guess] : [guess + distance, guess - distance]) if (fits(at)) return at;
  return null;
}
