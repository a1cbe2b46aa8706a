/** A commit of a real repository becomes a task: git, sandboxes and tests are real. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import { addEnvironment, type PreparedEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { createSynthesis, type SynthesisService, writeStatement } from "../../services/synthesis/index.ts";
import { Repository } from "../support/repository.ts";

const MANIFEST = '{ "name": "calculator", "version": "1.0.0", "scripts": { "test": "node --test" } }\n';
const test = (name: string, calls: readonly string[]) =>
  `const { test } = require("node:test");\nconst assert = require("node:assert");\nconst { mean } = require("../mean.js");\ntest(${JSON.stringify(name)}, () => {\n${calls.map((call) => `  assert.strictEqual(${call});\n`).join("")}});\n`;

let scratch: string;
let grading: GradingService;
let synthesis: SynthesisService;
let environment: PreparedEnvironment;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "history-"));
  const runtime = createProcessRuntime({ root: join(scratch, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "cold" });
  const repository = new Repository(join(scratch, "calculator"));
  const sum = "  let sum = 0;\n  for (const value of values) sum += value;\n";
  repository.commit([
    {
      message: "start",
      files: {
        "package.json": MANIFEST,
        "mean.js": `exports.mean = function mean(values) {\n${sum}  return sum / values.length;\n};\n`,
        "test/mean.test.js": test("means", ["mean([1, 3]), 2"]),
      },
    },
    {
      message: "fix: mean of no values is 0, not NaN (#7)",
      files: {
        "mean.js": `exports.mean = function mean(values) {\n${sum}  if (values.length === 0) return 0;\n  return sum / values.length;\n};\n`,
        "test/mean.test.js": test("means", ["mean([1, 3]), 2", "mean([]), 0"]),
        "test/other.test.js": test("another mean", ["mean([4]), 4"]),
      },
    },
    { message: "docs", files: { "README.md": "Means of numbers.\n" } },
  ]);
  environment = await addEnvironment({
    source: `git:${repository.folder}@main`,
    dataFolder: join(scratch, "data"),
    role: "train",
    repeats: 1,
    runTests: (request) => grading.runTests(request, "cold"),
  });
}, 120_000);
afterAll(async () => {
  await grading?.close();
  rmSync(scratch, { recursive: true, force: true });
});

it("becomes a valid task that its own sources solve and doing nothing does not", async () => {
  const candidate = await synthesis.generate(
    environment,
    "history",
    { functions: "all", heldOutShare: 0.3 },
    random(1, "history"),
  );
  if ("none" in candidate) throw new Error(candidate.none);
  const { task, gates } = await synthesis.validate(environment, candidate, { stabilityRuns: 2 });
  expect(gates.filter(({ passed }) => !passed)).toEqual([]);
  expect(task).toMatchObject({ type: "bug", generator: "history", functions: ["calculator#mean.js#mean"] });
  const graded = async (change: readonly (typeof candidate.gold)[number][]) =>
    (await grading.grade({ environment, task: task!, change, mode: "cold", reuse: false })).outcome;
  expect([await graded(candidate.gold), await graded([])]).toEqual(["passed", "failed"]);
  const { text } = writeStatement(task!, 1);
  expect(text).toContain("Mean of no values is 0, not NaN");
  expect(text).toContain("`mean([])` gives `0`");
  expect(text).not.toContain("#7");
}, 120_000);
