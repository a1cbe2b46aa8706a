/** Gates of candidates with tests of their own or a check: each lets the hand-made tasks pass, and refuses what one changed part makes of them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GateSettings } from "../../core/synthesis.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import { type Candidate, createSynthesis, type SynthesisService } from "../../services/synthesis/index.ts";
import { authoredCalled, candidateOf, changesOf, type Edit } from "../support/authored/index.ts";

const GATES: GateSettings = {
  maxFlakeRate: null,
  wrongSolutions: true,
  determined: false,
  decontaminate: [],
};

let data: string;
let grading: GradingService;
let synthesis: SynthesisService;
let tilebelt: PreparedEnvironment;
let roman: PreparedEnvironment;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "gates-"));
  const runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  tilebelt = await prepareEnvironment({ name: "tilebelt", dataFolder: data, runTests });
  roman = await prepareEnvironment({ name: "roman", dataFolder: data, runTests });
}, 180_000);
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

/** The hand-made task of that name, with some of it made anew. */
function made(environment: PreparedEnvironment, name: string, other: Partial<Candidate> = {}): Candidate {
  return { ...candidateOf(environment, authoredCalled(name)), ...other };
}

/** Its gold, edited further. */
function golden(environment: PreparedEnvironment, name: string, edits: readonly Edit[]): Candidate["gold"] {
  const { base, gold } = made(environment, name);
  const edited = changesOf(environment, edits, [...base, ...gold]);
  return [...gold.filter(({ path }) => !edited.some((one) => one.path === path)), ...edited];
}

async function verdicts(
  environment: PreparedEnvironment,
  candidate: Candidate,
  gates: Partial<GateSettings> = {},
) {
  const options = { stabilityRuns: 1, gates: { ...GATES, ...gates } };
  return synthesis.validate(environment, candidate, options);
}

/** The gate that refused it, and why. */
async function refusal(...of: Parameters<typeof verdicts>): Promise<string> {
  const { task, gates } = await verdicts(...of);
  expect(task?.id ?? null).toBeNull();
  const { gate, evidence } = gates.at(-1)!;
  return `${gate}: ${evidence}`;
}

const neighbourTests = (body: string, setup = "") => [
  writeText(
    "test-neighbors.js",
    `'use strict';\nvar test = require('tape').test;\nvar fs = require('fs');\nvar tilebelt = require('./');\n${setup}\ntest('around', function (t) {\n${body}\n    t.end();\n});\n`,
  ),
];
const RIGHT = "    t.deepEqual(tilebelt.getNeighbors([5, 10, 10])[0], [5, 9, 10]);";

describe("a feature with tests of its own", () => {
  it("passes every gate, and its verifier carries the tests and their command", async () => {
    const { task, gates } = await verdicts(tilebelt, made(tilebelt, "neighbours"));
    expect(gates.filter(({ passed }) => !passed)).toEqual([]);
    expect(gates.map(({ gate }) => gate)).toEqual([
      ...["build", "ends", "fail-to-pass", "no-op", "gold", "stability"],
      ...["wrong-solution", "alternative", "type", "reproduction", "leak"],
    ]);
    const said = Object.fromEntries(gates.map(({ gate, evidence }) => [gate, evidence]));
    expect(said.alternative).toBe(
      "passes: gold with the variable size under another name and a comment at the end of each source",
    );
    expect(said["wrong-solution"]).toBe(
      "fail: gold without its hunk at index.js:176; gold without its hunk at index.js:289; an unrelated comment and file; tests deleted",
    );
    expect(task?.hiddenFiles).toEqual([]);
    expect(task?.failToPass.map((name) => name.split(" > ")[0])).toEqual(Array(3).fill("test-neighbors.js"));
    expect(task?.verifier?.commands.map(({ scope }) => scope)).toEqual(["test.js", "test-neighbors.js"]);
    expect(task?.verifier?.files.map(({ path }) => path)).toEqual(["test-neighbors.js"]);
    expect((await verdicts(tilebelt, made(tilebelt, "neighbours"))).task?.id).toBe(task?.id);
  }, 60_000);

  it("build: its tests parse", async () => {
    const tests = [writeText("test-neighbors.js", "test('a', function (t {")];
    expect(await refusal(tilebelt, made(tilebelt, "neighbours", { tests }))).toBe(
      "build: test-neighbors.js does not parse",
    );
  });

  it("fail-to-pass: a test tells the base tree from the solved one", async () => {
    const tests = neighbourTests("    t.ok(tilebelt.getParent);");
    expect(await refusal(tilebelt, made(tilebelt, "neighbours", { tests }))).toBe(
      "fail-to-pass: every test still passes",
    );
  });

  it("gold: its own tests pass, and none that passed breaks", async () => {
    const wrong = [{ path: "index.js", from: "tile[1] - 1, tile[2]]", to: "tile[1] - 2, tile[2]]" }];
    expect(
      await refusal(
        tilebelt,
        made(tilebelt, "neighbours", {
          gold: golden(tilebelt, "neighbours", wrong),
          tests: neighbourTests(RIGHT),
        }),
      ),
    ).toMatch(/^gold: with gold these fail: test-neighbors\.js > around > should be equivalent#1/);
    const breaking = [{ path: "index.js", from: "tile[2] - 1];", to: "tile[2] - 2];" }];
    expect(
      await refusal(
        tilebelt,
        made(tilebelt, "neighbours", { gold: golden(tilebelt, "neighbours", breaking) }),
      ),
    ).toMatch(/^gold: with gold these fail: test\.js > get parent/);
  }, 60_000);

  it("stability: a test that fails by chance is found by as many repeats as the rate asks for", async () => {
    const flaky =
      "    t.ok(tilebelt.getNeighbors || require('crypto').randomBytes(1)[0] < 128, 'by chance');";
    const tests = neighbourTests(`${flaky}\n    t.ok(tilebelt.getNeighbors, 'there');`);
    const candidate = made(tilebelt, "neighbours", { tests });
    const said = await refusal(tilebelt, candidate, { maxFlakeRate: 0.1, wrongSolutions: false });
    expect(said).toMatch(/^stability: differs between runs: test-neighbors\.js > around > by chance#1$/);
    const { gates } = await verdicts(tilebelt, made(tilebelt, "neighbours"), {
      maxFlakeRate: 0.6,
      wrongSolutions: false,
    });
    expect(gates.find(({ gate }) => gate === "stability")?.evidence).toBe(
      "4 runs of the base tree and of the solved tree agree: a flake rate above 0.527 is excluded at 95 %",
    );
  }, 120_000);

  it("wrong-solution: each hunk of gold is needed", async () => {
    const unseen = [{ path: "index.js", from: "var d2r = Math.PI / 180,", to: "var d2r = Math.PI / 180.0," }];
    const candidate = made(tilebelt, "neighbours", { gold: golden(tilebelt, "neighbours", unseen) });
    expect(await refusal(tilebelt, candidate)).toMatch(
      /^wrong-solution: gold without its hunk at index\.js:\d+ passes$/,
    );
    expect((await verdicts(tilebelt, candidate, { wrongSolutions: false })).task).not.toBeNull();
  }, 60_000);

  it("alternative: tests do not ask for the names of gold's variables", async () => {
    const tests = neighbourTests(
      `${RIGHT}\n    t.ok(/var size =/.test(fs.readFileSync('index.js', 'utf8')));`,
    );
    expect(await refusal(tilebelt, made(tilebelt, "neighbours", { tests }))).toMatch(
      /^alternative: gold with the variable size under another name and a comment at the end of each source fails by fail-to-pass-failed/,
    );
  }, 60_000);

  it("type: what only puts an operator right is no feature", async () => {
    const base = changesOf(tilebelt, [{ path: "index.js", from: "tile[2] - 1];", to: "tile[2] + 1];" }]);
    const gold = changesOf(tilebelt, [{ path: "index.js", from: "tile[2] - 1];", to: "tile[2] - 1];" }]);
    const tests = neighbourTests("    t.ok(true, 'nothing new');");
    const disguised = made(tilebelt, "neighbours", { base, gold, tests });
    expect(await refusal(tilebelt, disguised, { wrongSolutions: false })).toMatch(/^type: no new test: /);
    const bug = await verdicts(tilebelt, { ...disguised, type: "bug" }, { wrongSolutions: false });
    expect(bug.task?.hiddenFiles).toEqual(["test.js"]);
  }, 60_000);
});

describe("a refactoring", () => {
  it("type: it has a check of its type, and each statement of it tells the two trees apart", async () => {
    const without = made(roman, "lower-case", { type: "refactor" });
    expect(await refusal(roman, without, { wrongSolutions: false })).toBe(
      "type: a refactor needs a check: its tests alone do not show it",
    );
    const { check } = made(roman, "to-argparse");
    expect(
      await refusal(roman, made(roman, "to-argparse", { type: "refactor", check: check! }), {
        wrongSolutions: false,
      }),
    ).toBe("type: a refactor has a check of type migration");
    const structure = [
      { kind: "defines", file: "src/roman.py", symbol: "convert" },
      { kind: "defines", file: "src/roman.py", symbol: "main" },
    ] as const;
    const vacuous = made(roman, "short-main", { check: { type: "refactor", structure } });
    expect(await refusal(roman, vacuous, { wrongSolutions: false })).toBe(
      'type: "src/roman.py defines main" does not tell the base tree from the solved one',
    );
  }, 60_000);

  it("type: a base that fails a test makes it a bug", async () => {
    const broken = [{ path: "src/roman.py", from: "('IV', 4)", to: "('IV', 3)" }];
    const base = changesOf(roman, broken);
    expect(await refusal(roman, made(roman, "short-main", { base }), { wrongSolutions: false })).toMatch(
      /^type: the base tree fails test_.*: that is a bug, not a refactor$/,
    );
  }, 60_000);

  it("gold: the check's statements hold for it", async () => {
    const structure = [{ kind: "max-lines", file: "src/roman.py", symbol: "main", lines: 2 }] as const;
    expect(await refusal(roman, made(roman, "short-main", { check: { type: "refactor", structure } }))).toBe(
      "gold: with gold these fail: check > structure > main of src/roman.py has at most 2 lines#1",
    );
  }, 60_000);
});

describe("a speed-up", () => {
  it("gold: is none where the workload is too short or the solved tree as slow", async () => {
    const { check } = made(roman, "numerals-again");
    if (check?.type !== "performance") throw new Error("expected a check of performance");
    const short = {
      ...check,
      workload: writeText("bench/numerals.py", "import roman\nprint(roman.toRoman(4))\n"),
    };
    expect(await refusal(roman, made(roman, "numerals-again", { check: short }))).toMatch(
      /^gold: .*as before#1 \(the workload takes 0\.\d\d CPU seconds on the base tree: at least 0\.2 are needed\)$/,
    );
    const idle = changesOf(roman, [{ path: "src/roman.py", from: "# Define digit mapping", to: "# Digits" }]);
    expect(await refusal(roman, made(roman, "numerals-again", { gold: idle }))).toMatch(
      /^gold: .*as before#1 \(speedup \d/,
    );
  }, 120_000);
});
