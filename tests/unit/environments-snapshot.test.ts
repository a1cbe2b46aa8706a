import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import { historyOverlay } from "../../services/environments/history.ts";
import { assertHistory, snapshotOf } from "../../services/environments/snapshot.ts";
import { readTree, type Tree, writeTree } from "../../services/environments/tree.ts";

const run = promisify(execFile);

const treeOf = (files: Readonly<Record<string, string>>): Tree =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

const FILES = { "a.js": "1\n", "lib/b.js": "2\n", "lib.js": "3\n", "lib/deep/c": "#!/bin/sh\n", é: "" };

const whole = (tree: Tree): Map<string, Uint8Array> => new Map([...tree, ...snapshotOf(tree)]);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "snapshot-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const git = async (...args: string[]): Promise<string> =>
  (await run("git", ["-c", "safe.directory=*", ...args], { cwd: folder })).stdout;

describe("the history of a tree", () => {
  it("is one commit in git's own eyes: sound, clean, without another object, ref, reflog or remote", async () => {
    await writeTree(whole(treeOf(FILES)), folder, { programs: true });
    expect(await git("fsck", "--strict", "--full", "--unreachable", "--dangling")).toBe("");
    expect(await git("status", "--porcelain")).toBe("");
    expect((await git("rev-list", "--all")).trim().split("\n")).toHaveLength(1);
    expect((await git("for-each-ref", "--format=%(refname)")).trim()).toBe("refs/heads/main");
    expect(await git("reflog", "--all")).toBe("");
    expect(await git("remote")).toBe("");
    const all = (await git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"))
      .trim()
      .split("\n");
    expect(all.sort()).toEqual([...Array(5).fill("blob"), ...Array(3).fill("tree"), "commit"].sort());
    expect(
      (await git("ls-tree", "-r", "-z", "--name-only", "HEAD")).split("\0").filter(Boolean).sort(),
    ).toEqual(Object.keys(FILES).sort());
  });

  it("is the same for the same tree whatever the order of its files, and another one for another tree", () => {
    const trees = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}(\/[a-z]{4}){0,2}$/), fc.string(), {
      minKeys: 1,
    });
    fc.assert(
      fc.property(trees, (files) => {
        const names = Object.keys(files);
        fc.pre(!names.some((name) => names.some((other) => other.startsWith(`${name}/`))));
        const reversed = new Map([...treeOf(files)].reverse());
        const made = snapshotOf(treeOf(files));
        expect(new Map([...snapshotOf(reversed)].sort())).toEqual(new Map([...made].sort()));
        const [first] = names;
        const other = snapshotOf(treeOf({ ...files, [first!]: `${files[first!]}x` }));
        expect(other.get(".git/refs/heads/main")).not.toEqual(made.get(".git/refs/heads/main"));
        expect(() => assertHistory("x", whole(treeOf(files)), "one")).not.toThrow();
      }),
      { numRuns: 50 },
    );
  });
});

const blob = (text: string): Uint8Array => deflateSync(Buffer.from(`blob ${text.length}\0${text}`));
const OBJECT = `.git/objects/ab/${"c".repeat(38)}`;

describe("a history with more in it is refused", () => {
  it.each<[string, Readonly<Record<string, string | Uint8Array>>, RegExp]>([
    ["a remote", { ".git/config": '[remote "origin"]\n\turl = x\n' }, /\.git\/config is not what was made/],
    ["a remote's branch", { ".git/refs/remotes/origin/main": "0\n" }, /a remote's branch/],
    ["a reflog", { ".git/logs/HEAD": "" }, /a reflog/],
    ["packed refs", { ".git/packed-refs": "" }, /packed refs/],
    ["a stash", { ".git/refs/stash": "0\n" }, /a stash/],
    ["another branch", { ".git/refs/heads/next": "0\n" }, /another ref/],
    ["a tag", { ".git/refs/tags/v1": "0\n" }, /another ref/],
    ["alternates", { ".git/objects/info/alternates": "/elsewhere\n" }, /another place for objects/],
    ["a pack", { ".git/objects/pack/pack-1.pack": "" }, /a pack of objects/],
    ["a dangling blob", { [OBJECT]: blob("the fix") }, /another blob object/],
    ["a damaged object", { [OBJECT]: "no object" }, /a damaged object/],
    ["a fetched head", { ".git/FETCH_HEAD": "" }, /the head of another commit/],
    ["the head before", { ".git/ORIG_HEAD": "" }, /the head of another commit/],
    ["a hook", { ".git/hooks/post-checkout": "" }, /a hook/],
    ["a worktree", { ".git/worktrees/a/HEAD": "" }, /an unexpected file/],
    ["a submodule's repository", { ".git/modules/a/HEAD": "" }, /an unexpected file/],
    ["another head", { ".git/HEAD": `${"0".repeat(40)}\n` }, /\.git\/HEAD is not what was made/],
    ["another commit", { ".git/refs/heads/main": `${"0".repeat(40)}\n` }, /refs\/heads\/main is not what/],
    ["a file that is not committed", { "new.js": "" }, /another (tree|commit) object|is not what|is missing/],
    ["a repository further down", { "lib/.git/HEAD": "" }, /a second repository/],
    ["a link to a repository further down", { "lib/.git": "gitdir: /x" }, /a second repository/],
  ])("%s", (_what, extra, message) => {
    const tree = whole(treeOf(FILES));
    for (const [path, content] of Object.entries(extra)) tree.set(path, Buffer.from(content));
    expect(() => assertHistory("box", tree, "one")).toThrow(message);
    expect(() => assertHistory("box", tree, "one")).toThrow(expect.objectContaining({ kind: "history" }));
  });

  it("a .git that leads elsewhere, a missing object, and any .git where none was made", () => {
    const tree = treeOf(FILES);
    expect(() =>
      assertHistory("box", new Map([...tree, [".git", Buffer.from("gitdir: /x")]]), "one"),
    ).toThrow(/leads elsewhere/);
    const lost = whole(tree);
    lost.delete([...lost.keys()].find((path) => path.startsWith(".git/objects/"))!);
    expect(() => assertHistory("box", lost, "one")).toThrow(/is missing/);
    expect(() => assertHistory("box", whole(tree), "none")).toThrow(/a history .* where none was made/);
    expect(() => assertHistory("box", tree, "none")).not.toThrow();
  });
});

describe("the history a task's agent sees", () => {
  it("is that of the task's own base: what the task took away is in no object", async () => {
    await writeTree(whole(treeOf({ ...FILES, "a.js": "the answer\n" })), folder);
    const base: FileChange[] = [
      { kind: "write", path: "a.js", content: "the bug\n", encoding: "utf8" },
      { kind: "delete", path: "lib/b.js" },
    ];
    for (const change of [...base, ...(await historyOverlay({ key: "k", root: folder }, base))]) {
      if (change.kind === "delete") await rm(join(folder, change.path));
      else if (change.kind === "write")
        await writeTree(new Map([[change.path, Buffer.from(change.content, change.encoding)]]), folder);
    }
    assertHistory("box", await readTree(folder), "one");
    expect(await git("status", "--porcelain")).toBe("");
    expect(await git("fsck", "--strict", "--full", "--unreachable")).toBe("");
    const bodies = await git("cat-file", "--batch-all-objects", "--batch");
    expect(bodies).toContain("the bug");
    expect(bodies).not.toContain("the answer");
  });

  it("has the links that a task's base makes of files, and makes anew", async () => {
    await writeTree(whole(treeOf(FILES)), folder, { programs: true });
    const base: FileChange[] = [
      { kind: "symlink", path: "lib.js", target: "lib/b.js" },
      { kind: "symlink", path: "lib/out", target: "/usr/bin/env" },
      { kind: "symlink", path: "a.js", target: "nowhere" },
      { kind: "write", path: "a.js", content: "a file again\n", encoding: "utf8" },
    ];
    for (const change of [...base, ...(await historyOverlay({ key: "k", root: folder }, base))]) {
      await rm(join(folder, change.path), { force: true });
      if (change.kind === "symlink") await symlink(change.target, join(folder, change.path));
      if (change.kind === "write")
        await writeTree(new Map([[change.path, Buffer.from(change.content, change.encoding)]]), folder);
    }
    expect(await git("status", "--porcelain")).toBe("");
    expect(await git("fsck", "--strict", "--full", "--unreachable")).toBe("");
    const listed = (await git("ls-tree", "-r", "HEAD"))
      .split("\n")
      .filter((line) => line.startsWith("120000"));
    expect(listed.map((line) => line.split("\t")[1])).toEqual(["lib.js", "lib/out"]);
    expect(await git("cat-file", "-p", "HEAD:lib.js")).toBe("lib/b.js");
    expect(await git("cat-file", "-p", "HEAD:a.js")).toBe("a file again\n");
    expect((await git("rev-list", "--all")).trim().split("\n")).toHaveLength(1);
  });

  it("is none where the environment has none", async () => {
    await writeTree(treeOf(FILES), folder);
    expect(await historyOverlay({ key: "k", root: folder }, [])).toEqual([]);
  });
});
