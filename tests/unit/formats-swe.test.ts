/** Rows of the SWE-bench family: read into the common form, or refused with file, line and field. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ImportFormat } from "../../core/formats.ts";
import {
  IMPORTERS,
  type ImportedTask,
  type ImportOptions,
  type RowResult,
} from "../../services/formats/index.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-swe-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const diff = (path: string, from: string, to: string) =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;

const bench = {
  instance_id: "psf__requests-1",
  repo: "psf/requests",
  base_commit: "0".repeat(40),
  patch: diff("requests/models.py", "x = 1", "x = 2"),
  test_patch: diff("tests/test_models.py", "assert 1", "assert 2"),
  problem_statement: "x is wrong",
  hints_text: "",
  version: "2.0",
  FAIL_TO_PASS: '["tests/test_models.py::test_x"]',
  PASS_TO_PASS: ["tests/test_models.py::test_y", "tests/test_models.py::test_y"],
};
const smith = {
  instance_id: "oauthlib__oauthlib.1fd52536.func_1",
  repo: "swesmith/oauthlib__oauthlib.1fd52536",
  patch: diff("oauthlib/common.py", "good", "bad"),
  FAIL_TO_PASS: ["tests/test_common.py::A::test_x"],
  PASS_TO_PASS: ["tests/test_other.py::test_y"],
  image_name: "swesmith.x86_64.oauthlib__oauthlib.1fd52536",
  problem_statement: "",
};
const rebench = {
  ...bench,
  instance_id: "a__b-2",
  repo: "a/b",
  install_config: {
    python: "3.9",
    install: "pip install -e .",
    test_cmd: "pytest -rA",
    log_parser: "parse_log_pytest",
  },
};
const r2e = {
  repo_name: "pandas",
  docker_image: "namanjain12/pandas_final:abc",
  commit_hash: "abc",
  problem_statement: "Intro\n[ISSUE]\nIt fails.\n[/ISSUE]",
  expected_output_json: '{"TestA.test_x": "PASSED", "test_y": "FAILED", "test_z - reason": "ERROR"}',
  parsed_commit_content: JSON.stringify({
    file_diffs: [
      { header: { file: { path: "pandas/core.py" } }, old_file_content: "a", new_file_content: "b\n" },
      {
        header: { file: { path: "pandas/tests/test_core.py" } },
        old_file_content: "a",
        new_file_content: "b\n",
      },
    ],
    new_commit_hash: "abc",
  }),
};

async function read(
  format: ImportFormat,
  rows: readonly object[],
  options: ImportOptions = {},
): Promise<RowResult[]> {
  const path = join(folder, "rows.jsonl");
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const found: RowResult[] = [];
  for await (const result of IMPORTERS[format].read(path, options)) found.push(result);
  return found;
}

async function readOne(format: ImportFormat, row: object, options?: ImportOptions): Promise<ImportedTask> {
  const [result] = await read(format, [row], options);
  if (result === undefined || "error" in result) throw result?.error ?? new Error("no row");
  return result.task;
}

const script = (task: ImportedTask, name: string) => {
  const file = task.verifier.files.find(({ path }) => path === `/verify/${name}`);
  return file?.kind === "write" ? file.content : undefined;
};

describe("SWE-bench", () => {
  it("rows of the first datasets take the published image and the repository's own command", async () => {
    const task = await readOne("swe-bench", bench);
    expect(task).toMatchObject({
      origin: { format: "swe-bench", id: "psf__requests-1", row: 1, line: 1 },
      statement: { level: 0, text: "x is wrong" },
      environment: {
        image: { kind: "image", reference: "swebench/sweb.eval.x86_64.psf_1776_requests-1:latest" },
        workdir: "/testbed",
      },
      gold: { kind: "diff", text: bench.patch, reverse: false },
      tests: [{ kind: "diff", text: bench.test_patch }],
      failToPass: ["tests/test_models.py::test_x"],
      passToPass: ["tests/test_models.py::test_y"],
      testFiles: ["tests/test_models.py"],
      verifier: { commands: [{ argv: ["bash", "/verify/run.sh"], format: "pytest" }], exact: null },
    });
    expect(script(task, "run.sh")).toMatch(/\npytest -rA tests\/test_models\.py\n$/);
  });

  it("newer rows bring image, script and parser", async () => {
    const eval_script = "#!/bin/bash\n: '>>>>> Start Test Output'\ncargo test\n: '>>>>> End Test Output'\n";
    const row = {
      ...bench,
      repo: "a/b",
      image: "ghcr.io/a/b:1",
      eval_script,
      log_parser: "parse_log_cargo",
      eval_type: "pass_and_fail",
    };
    const task = await readOne("swe-bench", row);
    expect(task.environment.image).toEqual({ kind: "image", reference: "ghcr.io/a/b:1" });
    expect(task.verifier.commands[0]!.format).toBe("cargo-test");
    expect(script(task, "eval.sh")).toBe(eval_script);
    expect(task.notes).toEqual([]);
  });

  it("Django's tests are told as modules", async () => {
    const test_patch = diff("tests/admin/tests.py", "a", "b");
    const task = await readOne("swe-bench", { ...bench, repo: "django/django", test_patch });
    expect(script(task, "run.sh")).toMatch(/--parallel 1 admin\.tests\n$/);
    expect(task.verifier.commands[0]!.format).toBe("unittest");
  });

  it("takes a command of the user's, with the tests' files where it wants them, quoted", async () => {
    const test_patch = diff("tests/it's.py", "a", "b");
    const task = await readOne(
      "swe-bench",
      { ...bench, repo: "a/b", test_patch },
      { test: "run {tests} now", report: "junit" },
    );
    expect(script(task, "run.sh")).toMatch(/\nrun 'tests\/it'\\''s\.py' now\n$/);
    expect(task.verifier.commands[0]!.format).toBe("junit");
  });

  it.each<[string, object, string]>([
    ["a wrong type", { instance_id: 7 }, "field instance_id: expected text, found number 7"],
    ["an absent field", { patch: undefined }, "field patch: expected text, found nothing"],
    [
      "an empty statement",
      { problem_statement: " " },
      'field problem_statement: expected text that is not empty, found the text " "',
    ],
    [
      "names that are no list",
      { FAIL_TO_PASS: "[1]" },
      'field FAIL_TO_PASS: expected a list of names, or the same as JSON in a text, found the text "[1]"',
    ],
    ["no test", { FAIL_TO_PASS: [] }, "field FAIL_TO_PASS: expected the name of a test, found none"],
    [
      "a patch that is none",
      { patch: "+x" },
      "field patch: expected a diff as git writes it, found expected a diff, found no file's change in the text",
    ],
    [
      "a path out of the tree",
      { patch: diff("../x", "a", "b") },
      'field patch: expected a diff as git writes it, found not a path inside the tree: "../x"',
    ],
    [
      "an absolute path",
      { test_patch: "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n" },
      'field test_patch: expected a diff as git writes it, found an absolute path: "/etc/passwd"',
    ],
    [
      "an id that no table holds",
      { instance_id: "bad\u0000id" },
      "field instance_id: expected at most 300 characters",
    ],
    ["half a character", { instance_id: "s\ud800x" }, "field instance_id: expected at most 300 characters"],
    [
      "an image that leads elsewhere",
      { image: "../localhost/secret" },
      'field image: expected the name of an image: [host/]name[:tag][@sha256:<64 hex digits>], or sha256:<64 hex digits>, found "../localhost/secret"',
    ],
    ["an id that makes no image's name", { instance_id: "../../x" }, "field image: expected the name"],
    [
      "an unknown parser",
      { eval_script: "x", log_parser: "parse_log_php" },
      "field log_parser: expected one of parse_log_pytest,",
    ],
    [
      "a repository that needs another reader",
      { repo: "sympy/sympy" },
      "field repo: expected one of parse_log_pytest,",
    ],
    [
      "an unknown repository",
      { repo: "a/b" },
      "field eval_script: expected a script (or --test), since no test command of a/b is known, found nothing",
    ],
    [
      "absent tests that would count as passed",
      { eval_type: "fail_only" },
      'field eval_type: expected "pass_and_fail"',
    ],
  ])("refuses %s, and takes the rows around it", async (_, change, message) => {
    const results = await read("swe-bench", [bench, { ...bench, ...change }, bench]);
    expect(results.map((result) => "task" in result)).toEqual([true, false, true]);
    const { error } = results[1] as { error: Error };
    expect(error.message).toContain(`rows.jsonl, line 2, ${message}`);
  });

  it("stops at the limit, bad rows counted", async () => {
    expect(await read("swe-bench", [bench, { ...bench, repo: 1 }, bench, bench], { limit: 2 })).toHaveLength(
      2,
    );
  });
});

describe("SWE-smith", () => {
  it("the patch is the bug, its reverse the solution, and the tests of the bug are hidden", async () => {
    const task = await readOne("swe-smith", smith);
    expect(task).toMatchObject({
      environment: {
        image: { reference: "jyangballin/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536:latest" },
      },
      base: [{ kind: "diff", text: smith.patch, reverse: false }],
      gold: { kind: "diff", text: smith.patch, reverse: true },
      hiddenFiles: ["tests/test_common.py"],
      testFiles: ["tests/test_common.py", "tests/test_other.py"],
      statement: { level: 0, text: expect.stringContaining("fail now") },
      notes: [expect.stringContaining("not reported"), expect.stringContaining("no statement")],
    });
    expect(script(task, "run.sh")).toMatch(
      /python3\)" -m pytest .* tests\/test_common\.py tests\/test_other\.py\n$/,
    );
  });

  it("names without pytest's ids need a command", async () => {
    const row = { ...smith, FAIL_TO_PASS: ["TestX"] };
    const [refused] = await read("swe-smith", [row]);
    expect((refused as { error: Error }).error.message).toMatch(
      /field FAIL_TO_PASS: expected ids of pytest .* found "TestX"/,
    );
    const task = await readOne("swe-smith", row, { test: "go test -json ./...", report: "go-test" });
    expect(task.verifier.commands[0]!.format).toBe("go-test");
  });

  it("a copy cannot be reversed", async () => {
    const patch = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    const [refused] = await read("swe-smith", [{ ...smith, patch }]);
    expect((refused as { error: Error }).error.message).toContain(
      "field patch: expected a diff as git writes it, found y: a copy cannot be reversed",
    );
  });
});

describe("SWE-rebench", () => {
  it("runs its own command on the test patch's files", async () => {
    const task = await readOne("swe-rebench", rebench);
    expect(task.environment).toMatchObject({
      image: { reference: "swerebench/sweb.eval.x86_64.a_1776_b-2:latest" },
      workdir: "/testbed",
    });
    expect(script(task, "run.sh")).toMatch(/\npytest -rA tests\/test_models\.py\n$/);
  });

  it("runs a list of commands as it is, in the image's own folder", async () => {
    const install_config = { test_cmd: ["export A=1", "cargo test"], log_parser: "parse_log_cargo" };
    const task = await readOne("swe-rebench", { ...rebench, image_name: "a/b:2", install_config });
    expect(task.environment).toMatchObject({ image: { reference: "a/b:2" }, workdir: null });
    expect(script(task, "run.sh")).toMatch(/\nexport A=1\ncargo test\n$/);
  });

  it.each([
    [
      { install_config: {} },
      "field install_config.test_cmd: expected text, or a list of texts, found nothing",
    ],
    [
      { install_config: { test_cmd: "x", log_parser: "parse_log_js" } },
      "field install_config.log_parser: expected one of parse_log_pytest,",
    ],
    [{ install_config: null }, "field install_config: expected object, found null"],
  ])("refuses %j", async (change, message) => {
    const [refused] = await read("swe-rebench", [{ ...rebench, ...change }]);
    expect((refused as { error: Error }).error.message).toContain(message);
  });
});

describe("R2E-Gym", () => {
  it("judges by the exact map; tests of the commit are no solution", async () => {
    const task = await readOne("r2e-gym", r2e);
    expect(task).toMatchObject({
      origin: { id: "pandas__abc" },
      statement: { text: "It fails." },
      gold: { kind: "changes", changes: [{ kind: "write", path: "pandas/core.py", content: "b\n" }] },
      verifier: { exact: { "TestA.test_x": "passed", test_y: "failed", test_z: "failed" } },
    });
    expect(task.environment.hidden).toContain("/r2e_tests");
  });

  it.each([
    [{ expected_output_json: "{" }, "field expected_output_json: expected JSON in a text"],
    [
      { expected_output_json: "{}" },
      "field expected_output_json: expected an object of test names and statuses, found an object",
    ],
    [
      { expected_output_json: '{"a":"MAYBE"}' },
      "field expected_output_json.a: expected one of PASSED, FAILED, ERROR, SKIPPED, XFAIL",
    ],
    [
      { parsed_commit_content: '{"file_diffs":[{"header":{"file":{"path":7}}}]}' },
      "field parsed_commit_content.file_diffs.0.header.file.path: expected text, found number 7",
    ],
    [
      { parsed_commit_content: '{"file_diffs":[{"header":{"file":{"path":"a/../b"}}}]}' },
      'found not a path inside the tree: "a/../b"',
    ],
  ])("refuses %j", async (change, message) => {
    const [refused] = await read("r2e-gym", [{ ...r2e, ...change }]);
    expect((refused as { error: Error }).error.message).toContain(message);
  });
});
