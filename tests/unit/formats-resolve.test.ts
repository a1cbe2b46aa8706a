/** Imports become tasks: diffs are whole files of the environment's tree, or are named with file and hunk. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ImportedTask, resolveTask } from "../../services/formats/index.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tadpole-tree-"));
  mkdirSync(join(root, "src"));
  mkdirSync(join(root, "tests"));
  writeFileSync(join(root, "src/a.py"), "def f():\n    return 1\n");
  writeFileSync(join(root, "src/run"), "#!/bin/sh\n");
  chmodSync(join(root, "src/run"), 0o755);
  writeFileSync(join(root, "tests/test_a.py"), "assert f() == 1\n");
  writeFileSync(join(root, "tests/test_b.py"), "b\n");
  symlinkSync("/etc", join(root, "out"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const bug = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n";
const imported: ImportedTask = {
  origin: { format: "swe-smith", id: "one", file: "rows.jsonl", row: 3, line: 4 },
  type: "bug",
  statement: { level: 0, text: "broken" },
  environment: {
    image: { kind: "image", reference: "x" },
    workdir: "/testbed",
    env: {},
    limits: {},
    cpus: null,
    network: "none",
  },
  base: [{ kind: "diff", field: "patch", text: bug, reverse: false }],
  gold: { kind: "diff", field: "patch", text: bug, reverse: true },
  tests: [],
  hiddenFiles: ["tests/test_a.py", "tests/gone.py"],
  testFiles: ["tests/test_a.py", "tests/test_b.py", "tests/gone.py"],
  failToPass: ["tests/test_a.py::t"],
  passToPass: [],
  verifier: {
    files: [{ kind: "write", path: "/verify/run.sh", content: "x", encoding: "utf8" }],
    commands: [{ scope: "", argv: ["bash", "/verify/run.sh"], format: "pytest", reportFile: null }],
    exact: null,
    timeoutSeconds: 60,
  },
  notes: [],
};
const resolve = (change: Partial<ImportedTask> = {}) =>
  resolveTask({ ...imported, ...change }, { environment: "e@1-0", root });
const write = (path: string, content: string) => ({ kind: "write", path, content, encoding: "utf8" });

describe("a task", () => {
  it("of a bug has the bug in its base, and the tree as it was as its solution", async () => {
    const { task, statement } = await resolve();
    expect(task).toMatchObject({
      environment: "e@1-0",
      generator: "import",
      base: [write("src/a.py", "def f():\n    return 2\n")],
      gold: [write("src/a.py", "def f():\n    return 1\n")],
      hiddenFiles: ["tests/test_a.py"],
      functions: ["one#src/a.py#"],
    });
    expect(statement).toMatchObject({ taskId: task.id, level: 0, text: "broken" });
  });

  it("gives the verifier the tests' own files, as its tests' edits leave them", async () => {
    const tests = "--- a/tests/test_b.py\n+++ b/tests/test_b.py\n@@ -1 +1 @@\n-b\n+c\n";
    const { task } = await resolve({
      tests: [{ kind: "diff", field: "test_patch", text: tests, reverse: false }],
    });
    expect(task.verifier!.files).toEqual([
      write("tests/test_a.py", "assert f() == 1\n"),
      write("tests/test_b.py", "c\n"),
      imported.verifier.files[0],
    ]);
  });

  it("has an id of all of it, the verifier too", async () => {
    const { task } = await resolve();
    expect((await resolve()).task.id).toBe(task.id);
    const verifier = { ...imported.verifier, timeoutSeconds: 61 };
    expect((await resolve({ verifier })).task.id).not.toBe(task.id);
  });

  it("keeps the mode of a file that a text replaces", async () => {
    const changes = [{ kind: "write", path: "src/run", content: "y", encoding: "utf8" }] as const;
    const { task } = await resolve({ gold: { kind: "changes", field: "commit", changes } });
    expect(task.gold).toEqual([{ ...changes[0], executable: true }]);
  });

  it("takes what a script changes", async () => {
    const gold = {
      kind: "script",
      field: "solve.sh",
      files: [],
      argv: ["x"],
      env: {},
      timeoutSeconds: 1,
    } as const;
    await expect(resolve({ gold })).rejects.toMatchObject({ kind: "unsupported", field: "solve.sh" });
    const { task } = await resolveTask(
      { ...imported, gold },
      { environment: "e@1-0", root, runScript: async (_, base) => base },
    );
    expect(task.gold).toEqual(task.base);
  });
});

describe("a diff that does not fit", () => {
  it.each([
    [
      bug.replace("return 1", "return 7"),
      "src/a.py, hunk 1: its lines are not in the file (looked for around line 1)",
    ],
    [bug.replaceAll("src/a.py", "src/gone.py"), "src/gone.py: the file that it changes is not there"],
    [
      "--- /dev/null\n+++ b/src/a.py\n@@ -0,0 +1 @@\n+x\n",
      "src/a.py: the file that it creates is there already",
    ],
    [
      "--- a/out/passwd\n+++ b/out/passwd\n@@ -1 +1 @@\n-root\n+x\n",
      "out/passwd: the file that it changes is not there",
    ],
  ])("is named with file, line, field and its place in the tree", async (text, message) => {
    const gold = { kind: "diff", field: "patch", text, reverse: false } as const;
    await expect(resolve({ base: [], gold })).rejects.toMatchObject({
      name: "ImportError",
      kind: "apply",
      message: `rows.jsonl, line 4, field patch: expected a diff that fits the environment's tree, found ${message}`,
    });
  });
});
