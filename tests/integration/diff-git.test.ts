/** Diffs that git makes are applied as git applies them: random edits of random trees, against `git apply` itself. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import {
  applyDiff,
  DiffError,
  parseDiff,
  pathsOf,
  reverseDiff,
  type TreeFile,
} from "../../services/formats/diff/index.ts";

type Tree = Readonly<Record<string, TreeFile>>;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "tadpole-diff-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const env = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
const identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"];
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", [...identity, ...args], { cwd: folder, env, maxBuffer: 2 ** 26 });

/** Lines of few kinds, so that context repeats and hunks can be found in more than one place. */
const line = fc.constantFrom(
  "a\n",
  "b\n",
  "c\n",
  "\n",
  "  if x:\n",
  "é\n",
  "r\r\n",
  "-- minus\n",
  "\\ back\n",
  "@@ -1 +1 @@\n",
);
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom("", "no line feed"))
  .map(([lines, end]) => Buffer.from(lines.join("") + end));
const latin1 = fc
  .array(line, { minLength: 1, maxLength: 9 })
  .map((lines) => Buffer.from(`\xe9\xff\n${lines.join("")}`, "latin1"));
const binary = fc
  .uint8Array({ minLength: 3, maxLength: 400 })
  .map((bytes) => Buffer.concat([Buffer.from([0]), bytes]));
const file: fc.Arbitrary<TreeFile> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("file" as const), bytes: text, executable: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("file" as const), bytes: latin1, executable: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("file" as const), bytes: binary, executable: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("symlink" as const),
      target: fc.constantFrom("x", "../y", "ä b"),
    }),
  },
);
const NAMES = ["a.txt", "b c.txt", 'q"u.txt', "tab\there", "dir/ä.py", "dir/deep/\\x", "new\nline", "d"];
const tree: fc.Arbitrary<Tree> = fc.dictionary(fc.constantFrom(...NAMES), file, { maxKeys: 6 });

const edit = fc.record({ at: fc.nat(30), remove: fc.nat(3), add: fc.array(line, { maxLength: 3 }) });
function edited(
  bytes: Buffer,
  edits: readonly { at: number; remove: number; add: readonly string[] }[],
): Buffer {
  let lines: string[] = bytes.toString("latin1").match(/[^\n]*\n|[^\n]+$/g) ?? [];
  for (const { at, remove, add } of edits)
    lines = [
      ...lines.slice(0, at % (lines.length + 1)),
      ...add.map((one) => Buffer.from(one).toString("latin1")),
      ...lines.slice((at % (lines.length + 1)) + remove),
    ];
  return Buffer.from(lines.join(""), "latin1");
}

/** A tree, and what random edits, renames, deletions and additions make of it. */
const pair = tree.chain((before) =>
  fc
    .record({
      edits: fc.array(edit, { maxLength: 4 }),
      others: tree,
      drop: fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }),
      moves: fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...NAMES)), { maxLength: 2 }),
      keep: fc.boolean(),
    })
    .map(({ edits, others, drop, moves, keep }) => {
      const after: Record<string, TreeFile> = {};
      for (const [name, found] of Object.entries(before))
        after[name] = found.kind === "file" ? { ...found, bytes: edited(found.bytes, edits) } : found;
      if (!keep) Object.assign(after, others);
      for (const [from, to] of moves) {
        const [a, b] = [after[from], after[to]];
        if (a !== undefined) after[to] = a;
        if (b !== undefined) after[from] = b;
        else delete after[from];
      }
      for (const name of drop) delete after[name];
      return { before, after: after as Tree };
    }),
);

function put(folder: string, files: Tree): void {
  for (const [name, found] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (found.kind === "symlink") symlinkSync(found.target, path);
    else {
      writeFileSync(path, found.bytes);
      chmodSync(path, found.executable ? 0o755 : 0o644);
    }
  }
}

function read(folder: string, below = ""): Record<string, TreeFile> {
  const found: Record<string, TreeFile> = {};
  for (const item of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below === "" ? item.name : `${below}/${item.name}`;
    if (item.name === ".git") continue;
    if (item.isDirectory()) Object.assign(found, read(folder, path));
    else if (item.isSymbolicLink())
      found[path] = { kind: "symlink", target: readlinkSync(join(folder, path)) };
    else
      found[path] = {
        kind: "file",
        bytes: readFileSync(join(folder, path)),
        executable: (lstatSync(join(folder, path)).mode & 0o100) !== 0,
      };
  }
  return found;
}

/** The tree after our own application. */
function apply(files: Tree, patches: ReturnType<typeof parseDiff>): Tree {
  const known = new Map(
    pathsOf(patches).flatMap((path) => (files[path] ? [[path, files[path]] as const] : [])),
  );
  const after: Record<string, TreeFile> = { ...files };
  for (const change of applyDiff(known, patches)) {
    delete after[change.path];
    if (change.kind !== "delete") after[change.path] = fileOf(change);
  }
  return after;
}

const fileOf = (change: Exclude<FileChange, { kind: "delete" }>): TreeFile =>
  change.kind === "symlink"
    ? { kind: "symlink", target: change.target }
    : {
        kind: "file",
        bytes: Buffer.from(change.content, change.encoding),
        executable: change.executable === true,
      };

const plain = (files: Tree) =>
  Object.fromEntries(
    Object.entries(files)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, found]) => [
        name,
        found.kind === "file"
          ? `${found.executable ? "x" : "-"}${found.bytes.toString("latin1")}`
          : `→${found.target}`,
      ]),
  );

/** The diff as a row of JSON would carry it: git's bytes read as UTF-8. Undefined where they are none. */
function diffOf(folder: string, options: readonly string[]): string | undefined {
  git(folder, "add", "-A");
  const bytes = git(folder, "diff", "--cached", "--binary", ...options, "HEAD");
  const found = bytes.toString("utf8");
  return Buffer.from(found).equals(bytes) ? found : undefined;
}

let count = 0;
function repository(before: Tree): string {
  const folder = join(scratch, `r${count++}`);
  mkdirSync(folder);
  git(folder, "init", "-q");
  put(folder, before);
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "--allow-empty", "-m", "a");
  return folder;
}

function replace(folder: string, files: Tree): void {
  for (const name of readdirSync(folder))
    if (name !== ".git") rmSync(join(folder, name), { recursive: true });
  put(folder, files);
}

describe("a diff made by git", () => {
  it("gives the tree it was made of, and reversed the tree before", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        pair,
        fc.constantFrom<string[]>([], ["-M"], ["-U1"], ["-M30%", "-C", "--find-copies-harder"]),
        ({ before, after }, options) => {
          const folder = repository(before);
          replace(folder, after);
          const diff = diffOf(folder, options);
          rmSync(folder, { recursive: true });
          if (diff === undefined || diff === "") return;
          compared++;
          const patches = parseDiff(diff);
          expect(plain(apply(before, patches))).toEqual(plain(after));
          if (patches.every(({ kind }) => kind !== "copy"))
            expect(plain(apply(after, reverseDiff(patches)))).toEqual(plain(before));
        },
      ),
      { numRuns: 60, seed: 5 },
    );
    expect(compared).toBeGreaterThan(25);
  }, 60_000);

  it("applies to another tree exactly where git applies it, with the same result", () => {
    const counts = { applied: 0, refused: 0 };
    fc.assert(
      fc.property(
        pair,
        fc.array(edit, { maxLength: 2 }),
        fc.boolean(),
        fc.constantFrom("-U3", "-U1"),
        ({ before, after }, edits, reverse, context) => {
          const folder = repository(before);
          replace(folder, after);
          const diff = diffOf(folder, ["-M", context]);
          if (diff === undefined || diff === "") return rmSync(folder, { recursive: true });
          const start = reverse ? after : before;
          const other = Object.fromEntries(
            Object.entries(start).map(([name, found]) => [
              name,
              found.kind === "file" ? { ...found, bytes: edited(found.bytes, edits) } : found,
            ]),
          );
          const target = `${folder}-other`;
          cpSync(folder, target, {
            recursive: true,
            filter: (path) => path === folder || path.startsWith(join(folder, ".git")),
          });
          replace(target, other);
          const result = spawnSync(
            "git",
            [...identity, "apply", "--whitespace=nowarn", ...(reverse ? ["-R"] : [])],
            { cwd: target, env, input: diff },
          );
          const patches = parseDiff(diff);
          let ours: Tree | null = null;
          try {
            ours = apply(other, reverse ? reverseDiff(patches) : patches);
          } catch (error) {
            if (!(error instanceof DiffError) || error.kind !== "apply") throw error;
          }
          if (result.status === 0) {
            counts.applied++;
            expect(ours && plain(ours)).toEqual(plain(read(target)));
          } else {
            counts.refused++;
            expect(ours, result.stderr.toString()).toBeNull();
          }
          rmSync(folder, { recursive: true });
          rmSync(target, { recursive: true });
        },
      ),
      { numRuns: 60, seed: 6 },
    );
    expect(Math.min(counts.applied, counts.refused)).toBeGreaterThan(8);
  }, 60_000);
});
