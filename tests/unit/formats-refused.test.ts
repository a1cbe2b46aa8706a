/** What no importer lets in: files that are none, characters that no record has. Each is one refusal by place, and the others go in. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../services/formats/harbor/config.ts";
import { readHarborTask } from "../../services/formats/harbor/import.ts";
import { IMPORTERS, type ImportFormat } from "../../services/formats/index.ts";
import { readRows } from "../../services/formats/rows/index.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-refused-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const diff = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`;
const bench = {
  instance_id: "psf__requests-1",
  repo: "psf/requests",
  patch: diff("x.py"),
  test_patch: diff("test_x.py"),
  problem_statement: "It is wrong",
  FAIL_TO_PASS: ["test_x.py::test"],
  PASS_TO_PASS: [],
};
const r2e = {
  repo_name: "pandas",
  docker_image: "namanjain12/pandas_final:abc",
  commit_hash: "abc",
  problem_statement: "It fails.",
  expected_output_json: '{"test_y": "PASSED"}',
};

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Of three rows: the second with `change`. */
async function refusalOf(format: ImportFormat, row: object, change: object) {
  const path = join(folder, "rows.jsonl");
  writeFileSync(path, [row, { ...row, ...change }, row].map((one) => `${JSON.stringify(one)}\n`).join(""));
  const results = await collect(IMPORTERS[format].read(path, {}));
  expect(results.map((result) => "task" in result)).toEqual([true, false, true]);
  const [, refused] = results;
  return refused !== undefined && "error" in refused ? refused.error : null;
}

function harborTask(name: string, files: Readonly<Record<string, string>> = {}): string {
  const root = join(folder, name);
  const all = {
    "instruction.md": "Make it so.\n",
    "task.toml": "",
    "environment/Dockerfile": "FROM scratch\n",
    "tests/test.sh": "true\n",
    ...files,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

describe("a row", () => {
  it.each<[ImportFormat, object, object, string, string]>([
    ["swe-bench", bench, { problem_statement: "a\0b" }, "problem_statement", "NUL"],
    ["swe-bench", bench, { problem_statement: "a\ud800b" }, "problem_statement", "half a character"],
    ["swe-bench", bench, { FAIL_TO_PASS: ["test_x.py::a", "test_x.py::b\0"] }, "FAIL_TO_PASS.1", "NUL"],
    ["swe-bench", bench, { PASS_TO_PASS: '["test_x.py::\\udc00"]' }, "PASS_TO_PASS.0", "half a character"],
    ["swe-bench", bench, { patch: `${diff("x.py")}\ud800` }, "patch", "half a character"],
    ["r2e-gym", r2e, { expected_output_json: '{"a\\u0000": "PASSED"}' }, "expected_output_json", "NUL"],
  ])("of %s is refused with a character that no record has", async (format, row, change, field, found) => {
    const error = await refusalOf(format, row, change);
    expect(error).toMatchObject({ kind: "field", line: 2, field, found: expect.stringContaining(found) });
  });

  it("may change a file that has a NUL", async () => {
    const patch = diff("x.py").replace("+b", "+b\0");
    const path = join(folder, "nul.jsonl");
    writeFileSync(path, JSON.stringify({ ...bench, patch }));
    const [result] = await collect(IMPORTERS["swe-bench"].read(path, {}));
    expect(result).toMatchObject({ task: { gold: { text: patch } } });
  });
});

describe("a named pipe", () => {
  it("among rows is refused by name, and the files beside it are read", async () => {
    const below = mkdtempSync(join(folder, "pipe-"));
    const pipe = join(below, "a.jsonl");
    execFileSync("mkfifo", [pipe]);
    writeFileSync(join(below, "b.jsonl"), '{"b":1}\n');
    const [refused, row] = await collect(readRows(below));
    expect(refused).toMatchObject({ error: { kind: "file", file: pipe, expected: "a file" } });
    expect(row).toMatchObject({ row: { value: { b: 1 } } });
  });

  it("in a task's folder is refused by name", async () => {
    const root = harborTask("piped");
    execFileSync("mkfifo", [join(root, "tests", "pipe")]);
    await expect(readHarborTask(root)).rejects.toMatchObject({ kind: "field", field: "tests/pipe" });
  });
});

describe("a Harbor task", () => {
  it("is refused where its instruction has a NUL, by file and line", async () => {
    const root = harborTask("nul", { "instruction.md": "One\nTwo\0\n" });
    await expect(readHarborTask(root)).rejects.toMatchObject({
      kind: "field",
      file: join(root, "instruction.md"),
      line: 2,
    });
  });

  it("is refused where a text of task.toml has one, by field", () => {
    expect(() => readConfig('[environment.env]\nA = "a\\u0000"\n', "task.toml")).toThrow(
      "field environment.env.A: expected a string without NUL",
    );
  });

  it("has a note on the network only where it asks for one", async () => {
    const notes = async (name: string, toml: string) =>
      (await readHarborTask(harborTask(name, { "task.toml": toml }))).notes;
    expect(await notes("silent", "")).toEqual([]);
    expect(await notes("none", "[environment]\nallow_internet = false\n")).toEqual([]);
    expect(await notes("public", "[environment]\nallow_internet = true\n")).toEqual([
      expect.stringContaining("task.toml asks for a network"),
    ]);
  });

  it("keeps how long its image may be built, where that is not the default", async () => {
    const image = async (name: string, seconds: number) =>
      (
        await readHarborTask(
          harborTask(name, { "task.toml": `[environment]\nbuild_timeout_sec = ${seconds}\n` }),
        )
      ).environment.image;
    expect(await image("quick", 5)).toMatchObject({ kind: "build", timeoutSeconds: 5 });
    expect(await image("default", 600)).not.toHaveProperty("timeoutSeconds");
  });
});
