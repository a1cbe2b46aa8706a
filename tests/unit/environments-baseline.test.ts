import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TestStatus } from "../../core/task.ts";
import { mergeRuns } from "../../services/environments/baseline.ts";
import { compareRecords, EnvironmentError, flakeBound } from "../../services/environments/index.ts";
import type { EnvironmentRecord } from "../../services/environments/record.ts";
import type { TestRunResult } from "../../services/grading/types.ts";

function run(statuses: Record<string, TestStatus>, changes: Partial<TestRunResult> = {}): TestRunResult {
  return {
    report: { statuses, complete: true },
    exitCodes: { "test.js": Object.values(statuses).includes("failed") ? 1 : 0 },
    contradictions: [],
    ended: true,
    outOfMemory: false,
    cpuSeconds: 0.1,
    wallSeconds: 0.2,
    treeHash: "",
    log: "last line of the log",
    ...changes,
  };
}

const many = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`test.js > sums > equal#${index + 1}`, "passed" as TestStatus]),
);
const flaky = "test.js > sums > equal#7";

function refusal(runs: readonly TestRunResult[]): EnvironmentError {
  try {
    mergeRuns("pack", runs);
  } catch (error) {
    expect(error).toBeInstanceOf(EnvironmentError);
    return error as EnvironmentError;
  }
  throw new Error("nothing was refused");
}

describe("the baseline", () => {
  it("has every test that always had the same status, and the CPU time of the slowest run", () => {
    const skipped = { ...many, "test.js > later > skipped#1": "skipped" as TestStatus };
    const merged = mergeRuns("pack", [run(skipped), run(skipped, { cpuSeconds: 0.4 }), run(skipped)]);
    expect(merged).toEqual({ statuses: skipped, unstable: [], cpuSeconds: 0.4, runs: 3 });
  });

  it("leaves out a test that changed or was not always there, and names it", () => {
    const changed = mergeRuns("pack", [run(many), run({ ...many, [flaky]: "failed" }), run(many)]);
    expect(changed.unstable).toEqual([flaky]);
    expect(changed.statuses).not.toHaveProperty([flaky]);
    const { [flaky]: _, ...without } = many;
    expect(mergeRuns("pack", [run(many), run(without)]).unstable).toEqual([flaky]);
  });

  it("is refused when a test fails in every run, with its name", () => {
    const error = refusal([run({ ...many, [flaky]: "failed" }), run({ ...many, [flaky]: "failed" })]);
    expect(error.kind).toBe("tests-fail");
    expect(error.message).toContain("1 of 20 tests fail untouched");
    expect(error.message).toContain(flaky);
  });

  it("is refused when a run has no end, no test, or an exit code that no test explains", () => {
    expect(refusal([run(many), run(many, { ended: false, stoppedBy: "memory" })])).toMatchObject({
      kind: "tests-fail",
      message: expect.stringMatching(
        /run 2 of 2\), did not reach their end: stopped by the memory limit\nlast line of the log/,
      ),
    });
    expect(refusal([run(many, { report: { statuses: many, complete: false } })]).message).toContain(
      "reach their end",
    );
    expect(refusal([run({})]).message).toContain("reported no test");
    expect(refusal([run(many, { exitCodes: { "test.js": 3 } })]).message).toContain(
      "test.js, run untouched, exits with 3",
    );
    expect(refusal([run(many, { exitCodes: { "test.js": null } })]).message).toContain("exits with null");
  });

  it("is refused as unstable when more than a tenth of the tests changed", () => {
    const names = Object.keys(many).slice(0, 3);
    const failed = Object.fromEntries(names.map((name) => [name, "failed" as TestStatus]));
    const error = refusal([run(many), run({ ...many, ...failed })]);
    expect(error.kind).toBe("unstable");
    expect(error.message).toContain("3 of 20 tests changed in 2 runs");
  });
});

describe("the flake bound", () => {
  it("is the exact one: 63 % after 3 runs, under 5 % after 59, near 3 / n for many", () => {
    expect(flakeBound(3)).toBeCloseTo(0.6316, 4);
    expect(flakeBound(58)).toBeGreaterThan(0.05);
    expect(flakeBound(59)).toBeLessThan(0.05);
    expect(flakeBound(3000) * 3000).toBeCloseTo(2.994, 3);
  });

  it("is the rate at which that many agreeing runs have the remaining probability", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (runs, level) => {
          expect((1 - flakeBound(runs, level)) ** runs).toBeCloseTo(1 - level, 9);
        },
      ),
    );
  });

  it("is refused for no runs and for a confidence outside 0..1", () => {
    for (const runs of [0, -1, 1.5, Number.NaN]) expect(() => flakeBound(runs)).toThrow(RangeError);
    for (const level of [0, 1, Number.NaN]) expect(() => flakeBound(3, level)).toThrow(RangeError);
  });
});

describe("the comparison of two records", () => {
  const record: EnvironmentRecord = {
    key: "pack@1.0.0-000000000000",
    packageName: "pack",
    version: "1.0.0",
    integrity: "sha512-a",
    entry: {
      name: "pack",
      source: "npm:pack@1.0.0",
      role: "train",
      sources: [],
      tests: [],
      omit: [],
      framework: "tape",
    },
    tools: {},
    treeHash: "aa",
    modulesHash: "bb",
    baseline: many,
    baselineRuns: 3,
    cpuSeconds: 1,
    unstable: [],
  };

  it("does not look at times and counts of runs", () => {
    expect(compareRecords(record, { ...record, cpuSeconds: 2, baselineRuns: 5 })).toEqual([]);
  });

  it("names each field and test that differs", () => {
    const { [flaky]: _, ...baseline } = many;
    expect(compareRecords(record, { ...record, treeHash: "cc", baseline })).toEqual([
      "treeHash: aa before, cc now",
      `test ${flaky}: passed before, not in the baseline now`,
    ]);
  });
});
