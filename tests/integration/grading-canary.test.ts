/** The canary, really run: lies in every kind of Node's modules are found, and honest changes that it cannot load are not accused. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, ReportFormat, Task } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { tinyEnvironment } from "../support/tiny-environment.ts";

let folder: string;
let grading: GradingService;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "canary-runs-"));
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
});
afterAll(async () => {
  await grading.close();
  rmSync(folder, { recursive: true, force: true });
});

type Files = Readonly<Record<string, string>>;
const written = (files: Files): FileChange[] =>
  Object.entries(files).map(([path, content]) => ({ kind: "write", path, content, encoding: "utf8" }));

let made = 0;
/** A package of these files; its tests pass by the change. */
async function grade(
  [format, ...argv]: readonly [ReportFormat, ...string[]],
  { files, sources, tests }: { files: Files; sources: string[]; tests: string },
  names: readonly string[],
  change: FileChange[],
) {
  const root = join(folder, `${made++}`);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const tiny = tinyEnvironment(join(folder, "tiny"));
  const environment = {
    ...tiny,
    ...{ key: `m@1.0.0-${made}`, root, modules: null, mounts: [], cpuSeconds: 2 },
    entry: { ...tiny.entry, framework: format, sources, tests: [tests] },
    commands: [{ scope: "", argv: [...argv, tests], format, reportFile: null }],
  } as unknown as PreparedEnvironment;
  const task: Task = {
    ...{ id: "t00000000000000aa", environment: environment.key, type: "bug", generator: "import", base: [] },
    ...{ gold: change, hiddenFiles: [], failToPass: names, passToPass: [], functions: [] },
    facts: { sites: [], reproduction: null },
  };
  return grading.grade({ environment, task, change, mode: "cold", reuse: false });
}

const NODE_TEST = ["node-test", "node", "--test", "--test-reporter=tap"] as const;
const UNITTEST = ["unittest", "python3", "-m", "unittest", "-v"] as const;

const adder = (end: string, isModule = end !== "cjs", head = "", body = "a + b") => ({
  [`add.${end}`]: `${head}\n${isModule ? "export default" : "module.exports ="} (a, b) => ${body};\n`,
});
const ADDS = (end: string) =>
  end === "cjs"
    ? "const add = require('../add.cjs');\nconst test = require('node:test');\nconst assert = require('node:assert');\ntest('adds', () => assert.strictEqual(add(2, 3), 5));\n"
    : `import add from '../add.${end}';\nimport test from 'node:test';\nimport assert from 'node:assert';\ntest('adds', () => assert.strictEqual(add(2, 3), 5));\n`;

describe("a lie in a source of Node", () => {
  it.each(["cjs", "mjs", "ts", "js"])("is found in .%s, and the truth believed", async (end) => {
    const tests = `test/add.test.${end === "cjs" ? "cjs" : "mjs"}`;
    const type = end === "js" ? '{ "type": "module" }' : "{}";
    const project = {
      files: { "package.json": type, ...adder(end), [tests]: ADDS(end) },
      ...{ sources: [`add.${end}`], tests },
    };
    const how = end === "cjs" ? "const assert = require('assert');" : "import assert from 'node:assert';";
    const typed = end === "ts" ? "(assert as any)" : "assert";
    const lie = adder(end, end !== "cjs", `${how}\n${typed}.strictEqual = () => {};`, "a - b");
    expect(await grade(NODE_TEST, project, ["adds"], written(lie))).toMatchObject({
      rule: "harness-tampered",
    });
    const honest = await grade(NODE_TEST, project, ["adds"], written(adder(end, end !== "cjs", "// sums")));
    expect(honest).toMatchObject({ outcome: "passed", log: expect.not.stringContaining("no canary") });
  });
});

describe("an honest change", () => {
  const node = {
    files: { "package.json": "{}", "cli.cjs": "", ...adder("cjs"), "test/add.test.cjs": ADDS("cjs") },
    ...{ sources: ["cli.cjs", "add.cjs"], tests: "test/add.test.cjs" },
  };

  it("whose program ends the process as it is loaded is believed, and hides no lie of others", async () => {
    const cli = { "cli.cjs": "function main() { return 0; }\nprocess.exit(main());\n" };
    const passed = await grade(NODE_TEST, node, ["adds"], written(cli));
    expect(passed).toMatchObject({ outcome: "passed", log: expect.not.stringContaining("no canary") });
    const lie = adder("cjs", false, "require('assert').strictEqual = () => {};", "0");
    expect(await grade(NODE_TEST, node, ["adds"], written({ ...cli, ...lie }))).toMatchObject({
      rule: "harness-tampered",
    });
  });

  it("of which the canary can load nothing is believed, and that is on record", async () => {
    const alone = { ...node, sources: ["cli.cjs"] };
    const change = written({ "cli.cjs": "throw new Error('usage');\n" });
    expect(await grade(NODE_TEST, alone, ["adds"], change)).toMatchObject({
      outcome: "passed",
      log: expect.stringMatching(/=== no canary\nit could not be loaded/),
    });
  });

  it("with a Python program that exits as it is loaded, or whose module is gone, is believed", async () => {
    const tests = "test_one.py";
    const python = {
      files: {
        ...{ "pkg/__init__.py": "from .util import one\n", "pkg/util.py": "def one():\n    return 1\n" },
        "pkg/__main__.py": "",
        [tests]:
          "import pkg\nimport unittest\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(pkg.one(), 1)\n",
      },
      ...{ sources: ["pkg/__init__.py", "pkg/__main__.py", "pkg/util.py"], tests },
    };
    const names = ["test_one (test_one.T.test_one)"];
    const change = written({ "pkg/__main__.py": "import sys\nfrom . import one\nsys.exit(one())\n" });
    const inlined: FileChange[] = [
      ...written({ "pkg/__init__.py": "def one():\n    return 1\n" }),
      { kind: "delete", path: "pkg/util.py" },
    ];
    for (const made of [change, inlined])
      expect(await grade(UNITTEST, python, names, made)).toMatchObject({
        outcome: "passed",
        log: expect.not.stringContaining("no canary"),
      });
    const lie =
      "import unittest\nunittest.TestCase.assertEqual = lambda *args: None\ndef one():\n    return 2\n";
    expect(await grade(UNITTEST, python, names, written({ "pkg/util.py": lie }))).toMatchObject({
      rule: "harness-tampered",
    });
  });
});
