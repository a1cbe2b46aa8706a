import { describe, expect, it } from "vitest";
import { parseNodeTest } from "../../services/grading/parsers/node-test.ts";

const report = (lines: readonly string[]) =>
  parseNodeTest({
    text: ["TAP version 13", ...lines, ""].join("\n"),
    stderr: "",
    truncated: false,
    exitCode: 0,
    scope: "",
    workdir: "/repo",
  });

const SUMMARY = ["# tests 4", "# suites 0", "# pass 4", "# fail 0", "# duration_ms 9.5"];

/** Lines of `node --test a.test.js b.js c.test.js`; `b.js`, the second file, holds no test. */
const lines = (numbers: readonly [number, number, number, number]) => [
  ...[`ok ${numbers[0]} - a`, `ok ${numbers[1]} - also a`, `ok ${numbers[2]} - b.js`, `ok ${numbers[3]} - c`],
  ...["1..4", ...SUMMARY],
];

describe("a file without tests among the files that node:test ran", () => {
  it("is numbered by its place among the files, and is no test", () => {
    const { complete, statuses } = report(lines([1, 2, 2, 4]));
    expect(complete).toBe(true);
    expect(statuses).toEqual({ a: "passed", "also a": "passed", c: "passed" });
  });

  it.each([
    ["a test's number is wrong", lines([1, 3, 2, 4])],
    ["a line is missing", lines([1, 2, 2, 4]).toSpliced(1, 1)],
  ])("does not hide that %s", (_, text) => {
    expect(report(text).complete).toBe(false);
  });
});
