/** How the test command counts. */
import { describe, expect, it } from "vitest";
import { addCounts, countReport, lastLine, noCounts } from "../lanes.ts";

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((each) => ({ status: each })),
});

describe("countReport", () => {
  it("adds up the tests of all files", () => {
    const report = {
      testResults: [
        file("passed", "passed", "passed", "skipped"),
        file("failed", "failed", "passed", "todo"),
      ],
    };
    expect(countReport(report)).toEqual({ passed: 3, failed: 1, skipped: 2 });
    expect(countReport({ testResults: [] })).toEqual(noCounts);
  });

  it("counts a file that failed before its first test, or beside its tests, as a failure", () => {
    expect(countReport({ testResults: [file("failed")] })).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(countReport({ testResults: [file("failed", "passed")] })).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    });
  });
});

describe("lastLine", () => {
  it("counts over all lanes", () => {
    const sum = addCounts({ passed: 1, failed: 2, skipped: 3 }, { passed: 10, failed: 20, skipped: 30 });
    expect(lastLine(sum)).toBe("11 passed, 22 failed, 33 skipped");
  });
});
