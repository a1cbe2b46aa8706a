/** Reports in which another result of a test hides its failure. */
import { describe, expect, it } from "vitest";
import { mergeReports, parseTap } from "../../services/grading/parsers/tap.ts";
import { lines, parse } from "../support/reports.ts";

const RULER = "=".repeat(70);
const DASHES = "-".repeat(70);

describe("unittest", () => {
  const failed = (name: string) => [RULER, `FAIL: ${name}`, DASHES, "AssertionError", ""];
  const end = (ran: number, verdict: string) => [DASHES, `Ran ${ran} tests in 0.001s`, "", verdict];
  const [a, b] = ["test_a (m.C.test_a)", "test_b (m.C.test_b)"];

  it("calls failed what the details do, though code under test printed `ok` behind its name", () => {
    const progress = [`${a} ... ok`, "FAIL", `${b} ... FAIL`, ""];
    const text = lines(...progress, ...failed(a), ...failed(b), ...end(2, "FAILED (failures=2)"));
    expect(parse("unittest", "", { stderr: text, exitCode: 1 })).toEqual({
      statuses: { [a]: "failed", [b]: "failed" },
      complete: true,
    });
  });

  it("calls a test failed of which a subtest did, though its own line says `ok`", () => {
    const text = lines(`${a} ... ok`, "", ...failed(`${a} (i=1)`), ...end(1, "FAILED (failures=1)"));
    expect(parse("unittest", text, { exitCode: 1 }).statuses).toEqual({
      [a]: "failed",
      [`${a} (i=1)`]: "failed",
    });
  });

  it.each([
    ["failures", [`${a} ... FAIL`, "", ...failed(a)], "FAILED (failures=2)"],
    ["errors", [`${a} ... FAIL`, "", ...failed(a)], "FAILED (failures=1, errors=1)"],
    ["skipped tests", [`${a} ... ok`, "skipped 'why'", ""], "OK (skipped=1)"],
    ["tests skipped in vain", [`${a} ... skipped 'why'`, ""], "OK"],
    ["expected failures", [`${a} ... ok`, "expected failure", ""], "OK (expected failures=1)"],
    [
      "unexpected successes",
      [`${a} ... FAIL`, "", ...failed(a)],
      "FAILED (failures=1, unexpected successes=1)",
    ],
    ["what nobody knows", [`${a} ... ok`, ""], "OK (crashed=1)"],
    ["numbers that cannot be read", [`${a} ... ok`, ""], "OK (all of them"],
  ])("is not complete where the verdict counts other %s", (_, progress, verdict) => {
    expect(parse("unittest", lines(...progress, ...end(1, verdict))).complete).toBe(false);
  });

  it("counts the words of skipped subtests as Python before 3.11 prints them", () => {
    const text = lines(`${a} ... skipped 'x'`, "skipped 'y'", ...end(1, "OK (skipped=2)"));
    expect(parse("unittest", text)).toEqual({ statuses: { [a]: "skipped" }, complete: true });
  });
});

describe("go test", () => {
  const run = (status: "PASS" | "FAIL", name: string) =>
    lines(
      "=== RUN   TestA",
      `--- ${status}: TestA (0.00s)`,
      status,
      `${status === "PASS" ? "ok  " : "FAIL"}\t${name}\t0.1s`,
    );

  it("is not complete where a package ends twice", () => {
    const twice = parse("go-test", run("PASS", "p") + run("FAIL", "p"), { exitCode: 1 });
    expect(twice).toEqual({ statuses: { "p > TestA": "passed", "p > TestA#2": "failed" }, complete: false });
    expect(parse("go-test", run("PASS", "p") + run("FAIL", "q"), { exitCode: 1 }).complete).toBe(true);
  });

  it("is not complete with the result of a test that never began", () => {
    const event = (Action: string, Test?: string) => JSON.stringify({ Action, Package: "p", Test });
    const output = JSON.stringify({ Action: "output", Package: "p", Output: "PASS\n" });
    const text = (...events: string[]) => lines(event("start"), ...events, output, event("pass"));
    expect(parse("go-test", text(event("run", "TestA"), event("pass", "TestA"))).complete).toBe(true);
    expect(parse("go-test", text(event("pass", "TestA")))).toEqual({
      statuses: { "p > TestA": "passed" },
      complete: false,
    });
  });
});

describe("reports of several commands as one", () => {
  const report = (status: "passed" | "failed" | "skipped") => ({ statuses: { a: status }, complete: true });

  it("keep a failure, whichever command comes last", () => {
    for (const reports of [
      [report("failed"), report("passed")],
      [report("passed"), report("failed")],
      [report("skipped"), report("failed"), report("passed")],
    ])
      expect(mergeReports(reports).statuses).toEqual({ a: "failed" });
    expect(mergeReports([report("skipped"), report("passed")]).statuses).toEqual({ a: "skipped" });
    expect(mergeReports([report("passed"), report("skipped")]).statuses).toEqual({ a: "skipped" });
  });

  it("keep a test by the name of a property every object has", () => {
    const text = lines("  ✔ a", "  1) __proto__", "", "  1 passing (3ms)", "  1 failing", "", "  1) s");
    const { statuses } = mergeReports([parse("mocha", text, { exitCode: 1 })]);
    expect(Object.entries(statuses)).toEqual([
      ["a", "passed"],
      ["__proto__", "failed"],
    ]);
    expect(Object.keys(parseTap("# t\nok 1 __proto__\n1..1\n", "").statuses)).toEqual(["t > __proto__#1"]);
  });
});
