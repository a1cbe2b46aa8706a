/** Wording of commits, what their tests need, releases as commits: pure parts of the history generator. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseChanges, parseCommits } from "../../services/environments/commits.ts";
import { inOrder, lineOf, sectionOf, streamOf } from "../../services/environments/releases.ts";
import { sameProgram } from "../../services/languages/index.ts";
import { loadedModules, publicNames } from "../../services/synthesis/history/code.ts";
import { contractOf, examplesOf } from "../../services/synthesis/history/contract.ts";
import { intentsOf } from "../../services/synthesis/history/message.ts";
import { roleOf } from "../../services/synthesis/history/paths.ts";
import { textOfCommit, withoutPointers } from "../../services/synthesis/history/text.ts";

const tree = (files: Record<string, string>) =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

const told = (message: string, more: Partial<Parameters<typeof textOfCommit>[0]> = {}) =>
  textOfCommit({
    type: "bug",
    message,
    files: ["lib/parse.js"],
    goldLines: ["return value.trim();"],
    inner: ["unwrap"],
    ...more,
  });

describe("a commit's wording", () => {
  it.each([
    ["fix: commas in quotes (#123)", "Commas in quotes"],
    ["fix(parser)!: commas in quotes", "Commas in quotes"],
    ["[Fix] `parse`: commas in quotes, see https://example.org/issues/4", "`parse`: commas in quotes"],
    ["Fixed a bug where commas end a value in lib/parse.js", "Commas end a value"],
    ["commas in quotes, thanks to @ada", "Commas in quotes"],
    ["Regression of 3f2a9c1d0: commas in quotes", "Regression: commas in quotes"],
    ["1.2.3\n\n- [Dev Deps] update\n- [Fix] commas in quotes (#4, #5)", "commas in quotes"],
    ["use return value.trim(); for commas", "some results are wrong"],
    ["unwrap quotes: unwrap is wrong", "some results are wrong"],
  ])("of %j is %j", (message, title) => {
    expect(told(message).title.toLowerCase()).toBe(title.toLowerCase());
  });

  it("has the other lines, without trailers, diffs, fenced code and what names the place", () => {
    const message = [
      "fix: commas",
      "",
      "They ended a value.",
      "The helper unwrap dropped them.",
      "",
      "```js",
      "secret();",
      "```",
      "diff --git a/lib/parse.js b/lib/parse.js",
      "+secret();",
      "",
      "Closes #4",
      "Signed-off-by: Ada <ada@example.org>",
    ].join("\n");
    expect(told(message)).toEqual({ title: "Commas", body: "They ended a value." });
  });

  it("keeps packages, words that look like hashes and numbers", () => {
    expect(withoutPointers("use @scope/name in defaced code of 1234567 bytes")).toBe(
      "use @scope/name in defaced code of 1234567 bytes",
    );
  });
});

describe("a message", () => {
  it.each([
    ["perf: faster", ["performance"]],
    ["1.0.0\n\n- [New] an option\n- [Fix] a crash", ["feature", "fix"]],
    ["- [Refactor] a helper\n- [Tests] more", ["refactor"]],
    ["Extract a helper", ["refactor"]],
    ["Add an option", ["feature"]],
    ["2.0.0\n\nFix a crash", ["fix"]],
    ["words", []],
  ])("%j says %j", (message, intents) => {
    expect([...intentsOf(message)].sort()).toEqual(intents);
  });
});

describe("the same program", () => {
  it.each([
    ["a.js", "f('a', b) // one", 'f(\n  "a",\n  b,\n)', true],
    ["a.js", "f('a')", "f('b')", false],
    ["a.js", "x = /\\/\\//; a()", "x = /\\/\\//; b()", false],
    ["a.py", "if a:\n    b()\nc()\n", "if a:\n  b() # one\n\nc()\n", true],
    ["a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n", false],
    ["a.py", "x = 7 // 2", "x = 7 // 3", false],
    ["a.go", "func A() { b() }", "// A.\nfunc A() {\n\tb()\n}", true],
  ])("%s %j and %j: %s", (path, before, after, same) => {
    expect(sameProgram(path, before, after)).toBe(same);
  });
});

describe("a program's surface", () => {
  it.each([
    ["a.js", "exports.a = 1; module.exports.b = 2; X.prototype.c = f; if (opts.d) {}", ["a", "b", "c", "d"]],
    ["a.js", "module.exports = { a: 1, b: { c: 2 }, d: function () { return { e: 1 }; } };", ["a", "b", "d"]],
    ["a.ts", "export function a() {}\nexport const b = 1;\nexport { x as c, d };", ["a", "b", "c", "d"]],
    [
      "a.py",
      "def a(x, b=1):\n    pass\ndef _c(): pass\nclass D:\n    def e(self): pass\n",
      ["D", "a", "a(b=)", "e"],
    ],
    ["a.go", "func A() {}\nfunc b() {}\nfunc (t *T) C() {}\ntype D struct{}\n", ["A", "C", "D"]],
    ["a.txt", "exports.a = 1", []],
  ])("of %s %j is %j", (path, text, names) => {
    expect([...publicNames(path, text)].sort()).toEqual(names);
  });

  it.each([
    [
      "a.js",
      "require('has'); require('./own'); import x from '@a/b/c'; import 'node:fs'",
      ["@a/b", "fs", "has"],
    ],
    ["a.py", "import os, own.parts\nfrom json import loads\nfrom . import x\n", ["json", "os"]],
    ["a.go", 'import (\n\t"fmt"\n\t"example.org/own/x"\n)\n', ["fmt"]],
  ])("of %s %j loads %j", (path, text, modules) => {
    expect([...loadedModules(path, text, (name) => /own/.test(name))].sort()).toEqual(modules);
  });
});

describe("what a path is", () => {
  it.each([
    ["index.js", "source"],
    ["lib/new.js", "source"],
    ["test/a.js", "test"],
    ["test/fixtures/a.json", "test"],
    ["src/a.test.ts", "test"],
    ["package.json", "manifest"],
    ["package-lock.json", "generated"],
    ["dist/index.js", "generated"],
    ["vendor/a.go", "generated"],
    ["CHANGELOG.md", "docs"],
    ["data/core.json", "data"],
    [".eslintrc.json", "other"],
    [".github/workflows/a.yml", "other"],
  ])("%s: %s", (path, role) => {
    expect(roleOf(path, { sources: ["index.js"], tests: ["test/a.js"] })).toBe(role);
  });
});

describe("a contract", () => {
  const before = "t.equal(add(1, 2), 3);\n";
  const after = `${before}t.equal(add('1', { exact: true }), '1', 'a hidden name');\nvar x = 1; function f() { var y = 2; t.equal(add(y), 3); }\n`;

  it("has the new names and what new assertions of plain calls expect", () => {
    const write = (path: string, content: string) =>
      ({ kind: "write", path, content, encoding: "utf8" }) as const;
    const contract = contractOf({
      check: null,
      tests: [{ path: "test/a.js", role: "test", before, after }],
      gold: [write("index.js", "exports.add = function (a, options) { return options.exact ? a : 3; };\n")],
      tree: new Map([["index.js", "exports.add = function () { return 3; };\n"]]),
    });
    expect(contract).toContain("the name exact");
    expect(contract).toContain("- `add('1', { exact: true })` gives `'1'`");
    expect(contract).not.toContain("hidden name");
    expect(contract).not.toContain("add(1, 2)");
    expect(contract).not.toContain("add(y)");
  });

  it("reads expect() too, and nothing that is negated", () => {
    expect(examplesOf("expect(f(1)).toEqual([2]); t.notEqual(f(1), 3); t.ok(f(1));")).toEqual([
      { actual: "f(1)", expected: "[2]" },
    ]);
  });
});

describe("what git prints", () => {
  it("is read as commits", () => {
    expect(parseCommits("aa\nbb cc\nsubject\n\nbody\n\0dd\n\nfirst\n\0")).toEqual([
      { sha: "aa", parents: ["bb", "cc"], message: "subject\n\nbody" },
      { sha: "dd", parents: [], message: "first" },
    ]);
  });

  it("is read as changes, links and submodules aside", () => {
    const none = "0".repeat(40);
    const [a, b] = ["a".repeat(40), "b".repeat(40)];
    const raw = [
      `:100644 100755 ${a} ${b} M\0a b.js\0`,
      `:000000 100644 ${none} ${b} A\0new.bin\0`,
      `:120000 000000 ${a} ${none} D\0link\0`,
      `:000000 160000 ${none} ${a} A\0module\0`,
      "3\t4\ta b.js\0-\t-\tnew.bin\0" + "1\t0\tlink\0",
    ].join("");
    expect(parseChanges(raw)).toEqual([
      { path: "a b.js", before: a, after: b, lines: 7 },
      { path: "new.bin", before: null, after: b, lines: 0 },
    ]);
  });
});

describe("releases", () => {
  it("go up, without pre-releases", () => {
    expect(inOrder(["1.10.0", "1.2.0", "2.0.0-rc.1", "1.9.3"])).toEqual(["1.2.0", "1.9.3", "1.10.0"]);
  });

  it("leave out patches that the next minor version was not made from", () => {
    const release = (version: string, text: string) => ({ version, tree: tree({ "a.js": text }) });
    const line = lineOf([
      release("1.0.0", "a\nb\nc\n"),
      release("1.0.1", "a\nb\nc\nold fix\nmore\n"),
      release("1.1.0", "a\nb\nc\nd\n"),
      release("1.1.1", "a\nb\nc\nd\nfix\n"),
    ]);
    expect(line.map(({ version }) => version)).toEqual(["1.0.0", "1.1.0", "1.1.1"]);
  });

  it.each([
    ["# Changes\n\n## [v1.2.0](x) - 2020\n\n### Fixed\n- a\n\n## v1.1.0\n- b\n", "### Fixed\n- a"],
    ["## **1.2.0**\n- a\n## **1.1.0**\n- b", "- a"],
    ["1.2.0 / 2020-01-01\n===\n\n * a\n\n1.1.0 / 2019\n===\n", "* a"],
    ["## 1.2.01\n- no\n", ""],
  ])("have their section of a change log: %j", (changelog, section) => {
    expect(sectionOf(changelog, "1.2.0")).toBe(section);
  });

  it("become the same commits for everyone", () => {
    const folder = mkdtempSync(join(tmpdir(), "releases-"));
    try {
      const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
      const releases = [
        { version: "1.0.0", tree: tree({ "a.js": "1\n", 'b "c".txt': "x", bin: "#!/bin/sh\n" }) },
        { version: "1.1.0", tree: tree({ "a.js": "2\n", "CHANGELOG.md": "## 1.1.0\n- two\n\n## 1.0.0\n" }) },
      ];
      git("init", "--quiet", "--bare", "--initial-branch=main");
      execFileSync("git", ["fast-import", "--quiet"], { cwd: folder, input: streamOf(releases) });
      expect(git("rev-parse", "v1.1.0", "main")).toBe(
        Array(2).fill("d499f0b729e188535f393d26ede20f34c57cb0cf").join("\n"),
      );
      expect(git("log", "-1", "--format=%B", "v1.1.0")).toBe("1.1.0\n\n- two");
      expect(git("ls-tree", "-r", "--format=%(objectmode) %(path)", "v1.0.0").split("\n")).toEqual([
        "100644 a.js",
        '100644 "b \\"c\\".txt"',
        "100755 bin",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
