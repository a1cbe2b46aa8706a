/** Grading in containers where tests lie beside the sources: they are mounted one by one into a folder that the change may write to. */
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, Task } from "../../core/task.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService, testMounts } from "../../services/grading/index.ts";
import { createRuntime, type SandboxRuntime } from "../../services/sandbox/index.ts";

const scratch = await mkdtemp(join(tmpdir(), "grading-docker-"));
const runtime: SandboxRuntime = createRuntime("docker", { dataFolder: scratch, nodePath: process.execPath });
const reason = await runtime.unavailable();
const runs = reason === null || process.env.CI === "true";

const SOURCE = "src/roman.py";
const TESTS = "src/tests.py";
const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

afterAll(() => removeTree(scratch));

/** What was installed is read-only. */
async function removeTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
  await rm(folder, { recursive: true, force: true });
}

describe.runIf(runs)("a package with its tests beside its sources", () => {
  let environment: PreparedEnvironment;
  let grading: GradingService;
  let good: string;
  let bad: string;
  let tests: string;
  let task: Task;

  beforeAll(async () => {
    if (reason !== null) throw new Error(reason);
    grading = createGrading({ runtime });
    environment = await prepareEnvironment({
      name: "roman",
      dataFolder: scratch,
      runTests: (request) => grading.runTests(request, "cold"),
      repeats: 1,
    });
    good = await readFile(join(environment.root, SOURCE), "utf8");
    tests = await readFile(join(environment.root, TESTS), "utf8");
    bad = good.replace("def toRoman(n):", "def toRoman(n):\n    return 'M'\n\n\ndef unused(n):");
    const named = (part: string) => Object.keys(environment.baseline).filter((name) => name.includes(part));
    task = {
      id: "t0000000000000001",
      environment: environment.key,
      type: "bug",
      generator: "mutation",
      base: [write(SOURCE, bad)],
      gold: [write(SOURCE, good)],
      hiddenFiles: [],
      failToPass: named(".test_toRoman)"),
      passToPass: named(".test_fromRoman)"),
      functions: ["roman#src/roman.py#toRoman"],
      facts: { sites: [], reproduction: null },
    };
    expect(task.failToPass.length + task.passToPass.length).toBe(2);
  }, 240_000);
  afterAll(() => grading?.close());

  async function grade(change: readonly FileChange[]): Promise<string[]> {
    const { outcome, rule } = await grading.grade({ environment, task, change, mode: "cold", reuse: false });
    return [outcome, rule];
  }

  it("has its one test file mounted, and passes untouched", () => {
    expect(testMounts(environment.entry)).toEqual([TESTS]);
    expect(bad).not.toBe(good);
    expect(new Set(Object.values(environment.baseline))).toEqual(new Set(["passed"]));
  });

  it("has the solution pass, with new files beside it, and doing nothing fail", async () => {
    expect(await grade(task.gold)).toEqual(["passed", "all-passed"]);
    const split = good.replace("def toRoman(n):", "import helper\n\n\ndef toRoman(n):");
    expect(await grade([write(SOURCE, split), write("src/helper.py", "X = 1\n")])).toEqual([
      "passed",
      "all-passed",
    ]);
    expect(await grade([])).toEqual(["failed", "fail-to-pass-failed"]);
  }, 120_000);

  it("has a changed test file change nothing, be it in the change or written by what is tested", async () => {
    const cheated =
      "import unittest\n\n\nclass TestRoman(unittest.TestCase):\n    def test_toRoman(self):\n        pass\n\n    def test_fromRoman(self):\n        pass\n";
    expect(await grade([write(TESTS, cheated)])).toEqual(["failed", "fail-to-pass-failed"]);
    expect(await grade([...task.gold, write(TESTS, tests.replace("assertEqual", "assertNotEqual"))])).toEqual(
      ["passed", "all-passed"],
    );
    const writer = `try:\n    open("/repo/${TESTS}", "w").write(${JSON.stringify(cheated)})\nexcept OSError:\n    pass\n${bad}`;
    expect(await grade([write(SOURCE, writer)])).toEqual(["failed", "fail-to-pass-failed"]);
  }, 120_000);

  it("fails a change that puts a link in place of the folder", async () => {
    const [outcome] = await grade([
      { kind: "delete", path: SOURCE },
      { kind: "symlink", path: "src", target: "/tmp" },
    ]);
    expect(outcome).toBe("failed");
  }, 120_000);
});
