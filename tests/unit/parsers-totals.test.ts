/** Reports whose totals say what their results do not: code under test prints a part of a report, never all of it. */
import { describe, expect, it } from "vitest";
import type { ReportFormat } from "../../core/task.ts";
import { lines, parse } from "../support/reports.ts";

describe("node --test", () => {
  const numbers = (kinds: Readonly<Record<string, number>>) => ({
    ...{ tests: 1, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0, duration_ms: 40 },
    ...kinds,
  });
  const summary = (mark: string, kinds: Readonly<Record<string, number>>) =>
    Object.entries(numbers(kinds)).map(([key, value]) => `${mark} ${key} ${value}`);
  const spec = (results: readonly string[], kinds: Readonly<Record<string, number>>) =>
    parse("node-test", lines(...results, ...summary("ℹ", kinds))).complete;

  it.each([
    ["fail", { fail: 1 }],
    ["cancelled", { cancelled: 1 }],
    ["skipped", { skipped: 1 }],
    ["todo", { todo: 1 }],
    ["of no kind", {}],
    ["of two kinds", { pass: 1, fail: 1 }],
  ])("is not complete where the summary calls %s what passed", (_, kinds) => {
    const tap = ["TAP version 13", "# Subtest: a", "ok 1 - a", "1..1"];
    expect(parse("node-test", lines(...tap, ...summary("#", kinds))).complete).toBe(false);
    expect(spec(["✔ a (1ms)"], kinds)).toBe(false);
    expect(parse("node-test", lines(...tap, ...summary("#", { pass: 1 }))).complete).toBe(true);
    expect(spec(["✔ a (1ms)"], { pass: 1 })).toBe(true);
  });

  it("is not complete where a failure's mark stands behind other output", () => {
    expect(spec(["✔ a (1ms)", "x✖ a (1ms)"], { fail: 1 })).toBe(false);
  });

  it("is not complete where the only failed suite holds no failed test", () => {
    const suite = ["▶ s", "  ✔ a (1ms)", "✖ s (1ms)"];
    expect(spec(suite, { suites: 1, fail: 1 })).toBe(false);
    expect(spec(["▶ s", "  ✖ a (1ms)", "✖ s (1ms)"], { suites: 1, fail: 1 })).toBe(true);
  });

  it("is not complete where the summary gives a number twice", () => {
    expect(spec(["✔ a (1ms)", "ℹ fail 1"], { pass: 1 })).toBe(false);
  });
});

describe.each(["jest", "vitest"] as const)("the JSON of %s", (format) => {
  const json = (over: object = {}, test: object = {}, file: object = {}) =>
    JSON.stringify({
      ...{ success: true, numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, numTotalTests: 1 },
      testResults: [
        {
          ...{ name: "/repo/a.js", status: "passed" },
          assertionResults: [{ status: "passed", title: "a", ancestorTitles: [], ...test }],
          ...file,
        },
      ],
      ...over,
    });
  const failed = json(
    { success: false, numPassedTests: 0, numFailedTests: 1 },
    { status: "failed" },
    { status: "failed" },
  );
  const name = "a.js > a";

  it("is complete where everything fits", () => {
    expect(parse(format, json())).toEqual({ statuses: { [name]: "passed" }, complete: true });
    expect(parse(format, failed)).toEqual({ statuses: { [name]: "failed" }, complete: true });
  });

  it.each([
    { success: false },
    { numFailedTestSuites: 1 },
    { numRuntimeErrorTestSuites: 1 },
    { numTotalTests: 2 },
    { numTodoTests: 1 },
    { wasInterrupted: true },
  ])("is not complete with %j beside tests that passed", (over) => {
    expect(parse(format, json(over))).toEqual({ statuses: { [name]: "passed" }, complete: false });
  });

  it.each(["crashed", "constructor", ""])("takes a test whose outcome is %j for no pass", (status) => {
    const { statuses, complete } = parse(format, json({}, { status }));
    expect([statuses[name], complete]).toEqual(["failed", false]);
  });

  it("is not complete where two were printed", () => {
    expect(parse(format, `${failed}\n${json()}`).complete).toBe(false);
    expect(parse(format, `${json()}\n${failed}`).complete).toBe(false);
    const hidden = json().replace('"testResults"', '"test\\u0052esults"');
    expect(parse(format, `${failed}\n${hidden}`)).toEqual({
      statuses: { [name]: "passed" },
      complete: false,
    });
  });

  it("may hold the text of another", () => {
    expect(parse(format, json({}, { failureMessages: [failed] })).complete).toBe(true);
  });
});

describe("other totals", () => {
  it.each<[string, ReportFormat, string, string]>([
    [
      "jest's files",
      "jest",
      lines(
        "PASS ./a.js",
        "  ✓ a (1 ms)",
        "",
        "Test Suites: 1 passed, 1 total",
        "Tests:       1 passed, 1 total",
      ),
      lines(
        "PASS ./a.js",
        "  ✓ a (1 ms)",
        "",
        "Test Suites: 1 failed, 1 total",
        "Tests:       1 passed, 1 total",
      ),
    ],
    [
      "jest's unknown words",
      "jest",
      lines("PASS ./a.js", "  ✓ a (1 ms)", "", "Tests:       1 passed, 1 total"),
      lines("PASS ./a.js", "  ✓ a (1 ms)", "", "Tests:       1 crashed, 1 passed, 1 total"),
    ],
    [
      "vitest's errors outside tests",
      "vitest",
      lines(" ✓ a.js > a 5ms", " Test Files  1 passed (1)", "      Tests  1 passed (1)"),
      lines(
        " ✓ a.js > a 5ms",
        " Test Files  1 passed (1)",
        "      Tests  1 passed (1)",
        "     Errors  1 error",
      ),
    ],
    [
      "vitest's files",
      "vitest",
      lines(" ✓ a.js > a 5ms", " Test Files  1 passed (1)", "      Tests  1 passed (1)"),
      lines(" ✓ a.js > a 5ms", " Test Files  1 failed (1)", "      Tests  1 passed (1)"),
    ],
    [
      "vitest's unknown words",
      "vitest",
      lines(" ✓ a.js > a 5ms", "      Tests  1 passed (1)"),
      lines(" ✓ a.js > a 5ms", "      Tests  1 passed | 1 crashed (1)"),
    ],
    [
      "cargo's word",
      "cargo-test",
      lines(
        "running 1 test",
        "test a ... ok",
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; ",
      ),
      lines(
        "running 1 test",
        "test a ... ok",
        "test result: FAILED. 1 passed; 0 failed; 0 ignored; 0 measured; ",
      ),
    ],
    [
      "cargo's last word",
      "cargo-test",
      lines(
        "running 1 test",
        "test a ... ok",
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; ",
      ),
      lines(
        "running 1 test",
        "test a ... ok",
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; ",
        "error: test failed, to rerun pass `--lib`",
      ),
    ],
  ])("%s leave a report incomplete that they contradict", (_, format, good, bad) => {
    expect(parse(format, good).complete).toBe(true);
    const { statuses, complete } = parse(format, bad);
    expect(Object.values(statuses)).toEqual(["passed"]);
    expect(complete).toBe(false);
  });

  const mocha = (stats: object, err: object = {}) =>
    JSON.stringify({
      stats: { tests: 1, passes: 1, pending: 0, failures: 0, ...stats },
      tests: [{ fullTitle: "a", err }],
      ...{ pending: [], failures: [], passes: [{ fullTitle: "a", err }] },
    });

  it("mocha's are all compared, and a passed test has no error", () => {
    expect(parse("mocha", mocha({})).complete).toBe(true);
    expect(parse("mocha", mocha({}, { message: "boom" })).complete).toBe(false);
    expect(parse("mocha", mocha({ tests: 2 })).complete).toBe(false);
    expect(parse("mocha", `${mocha({ passes: 0, failures: 1 })}\n${mocha({})}`).complete).toBe(false);
  });
});

describe("JUnit XML", () => {
  const suite = (attributes: string, ...inner: string[]) =>
    `<testsuites><testsuite name="s" ${attributes}>${inner.join("")}</testsuite></testsuites>`;
  const passed = '<testcase name="a"/>';

  it.each([
    [
      "an error of the suite's own",
      suite('tests="1"', passed, '<error message="crash"/>'),
      { a: "passed", s: "failed" },
    ],
    ["timeouts", suite('tests="1" failures="0" errors="0" timeouts="1"', passed), { a: "passed" }],
    ["an outcome nobody knows", suite("", '<testcase name="a"><crashed/></testcase>'), { a: "passed" }],
    ["a status nobody knows", suite("", '<testcase name="a" status="crashed"/>'), { a: "passed" }],
    [
      "a test case in another",
      suite("", '<testcase name="a"><failure/><testcase name="a"/></testcase>'),
      { a: "failed", "a#2": "passed" },
    ],
  ])("is not complete with %s", (_, text, statuses) => {
    expect(parse("junit", text)).toEqual({ statuses, complete: false });
  });

  it.each([
    ['<testcase name="a" status="failed"/>', "failed"],
    ['<testcase name="a" status="run" result="Failed"/>', "failed"],
    ['<testcase name="a" result="error"/>', "failed"],
    ['<testcase name="a"><j:failure xmlns:j="u"/></testcase>', "failed"],
    ['<testcase name="a" status="run" result="suppressed"/>', "skipped"],
    ['<testcase name="a" status="run" result="completed"><system-out>x</system-out></testcase>', "passed"],
    ['<testcase name="a"><properties><property name="p" value="v"/></properties></testcase>', "passed"],
    ['<testcase name="a"><failure/><skipped/></testcase>', "failed"],
  ])("reads %s as %s", (test, status) => {
    expect(parse("junit", suite("", test))).toEqual({ statuses: { a: status }, complete: true });
  });
});

describe("TAP", () => {
  const tree = ["TAP version 14", "# Subtest: t", "    ok 1 - a", "    1..1", "ok 1 - t", "1..1"];
  const flat = ["TAP version 13", "# t", "ok 1 a", "", "1..1", "# tests 1", "# pass  1"];

  it.each([
    ["tape's", flat, "# fail  1"],
    ["tap's", tree, "# failed 1 of 1 tests"],
  ])("is not complete where %s summary counts a failure that is not there", (_, report, summary) => {
    const { statuses, complete } = parse("tap", lines(...report));
    expect(complete).toBe(true);
    expect(parse("tap", lines(...report, summary))).toEqual({ statuses, complete: false });
    const failing = report.map((line) => line.replace(/^( *)ok 1/, "$1not ok 1"));
    expect(parse("tap", lines(...failing, summary)).complete).toBe(true);
  });
});

describe("pytest", () => {
  const header = "=== test session starts ===";
  const collected = "collecting ... collected 1 item";
  const passed = "t.py::test_a PASSED [100%]";
  const counts = "=== 1 passed in 0.01s ===";

  it("is complete with its header, as many tests as it collected, and their counts", () => {
    for (const count of [
      collected,
      "collected 2 items / 1 deselected",
      "1 worker [1 item]",
      "gw0 [1] / gw1 [1]",
    ])
      expect(parse("pytest", lines(header, count, passed, counts)).complete).toBe(true);
  });

  it.each([
    ["nothing was collected before code ended the process", [header, passed, counts]],
    ["it says twice what it collected", [header, collected, collected, passed, counts]],
    ["more tests were named than collected", [header, "collected 0 items", passed, counts]],
    ["a session has no end", [header, collected, passed, header, counts]],
    ["only the first of two sessions has an end", [header, collected, passed, counts, header, collected]],
    ["an error is not counted", [header, collected, passed, "t.py::test_a ERROR [100%]", counts]],
    ["a failure is not counted", [header, collected, passed, "t.py::test_a FAILED [100%]", counts]],
    [
      "the summary names an error that is not counted",
      [passed, "=== short test summary info ===", "ERROR t.py::test_a", counts],
    ],
    ["it counts what nobody knows", [passed, "=== 1 passed, 1 crashed in 0.01s ==="]],
    ["it counts something twice", [passed, "=== 1 passed, 1 failed, 0 failed in 0.01s ==="]],
    ["it counts only what nobody knows", [passed, "=== 1 crashed in 0.01s ==="]],
  ])("is not complete where %s", (_, report) => {
    expect(parse("pytest", lines(...report)).complete).toBe(false);
  });

  it("calls a test failed that has an uncounted failure, too", () => {
    const text = lines(passed, "t.py::test_a ERROR [100%]", counts);
    expect(parse("pytest", text).statuses).toEqual({ "t.py::test_a": "failed" });
  });

  it("reads past lines that only look like counts", () => {
    expect(parse("pytest", lines(passed, "5 files in 2.0s", counts))).toEqual({
      statuses: { "t.py::test_a": "passed" },
      complete: true,
    });
  });
});
