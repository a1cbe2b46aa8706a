/** Parsers on what no example project shows: older dialects, duplicates, look-alikes, any text at all. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { REPORT_FORMATS, type ReportFormat } from "../../core/task.ts";
import { parseTap } from "../../services/grading/index.ts";
import { parseReport, parsers, type ReportInput } from "../../services/grading/parsers/index.ts";

const input = (text: string, more: Partial<ReportInput> = {}): ReportInput => ({
  text,
  stderr: "",
  truncated: false,
  exitCode: 0,
  scope: "",
  workdir: "/repo",
  ...more,
});

const parse = (format: ReportFormat, text: string, more?: Partial<ReportInput>) =>
  parseReport(format, input(text, more));

const lines = (...all: readonly string[]): string => `${all.join("\n")}\n`;

/** Words and marks that the formats are made of, so that random text reaches deep into each parser. */
const PIECES = [
  ..."TAP version 13|ok 1 - a|not ok 2 - b # TODO|# Subtest: a|    ok 1 - a|    1..1|1..2|  ---|  ...|Bail out!".split(
    "|",
  ),
  ..."a.py::t PASSED [ 50%]|a.py::t[x - y] FAILED|FAILED a.py::t - b|=== short test summary info ===|1 passed in 0.1s".split(
    "|",
  ),
  ..."t (m.T.t) ... ok|t (m.T.t)|doc ... FAIL|Ran 1 test in 0.1s|OK|FAILED (failures=1)|".split("|"),
  ..."✔ a (1ms)|▶ s|  ✖ b (1ms)|ℹ tests 1|ℹ suites 0|ℹ duration_ms 1|PASS ./a.test.js|  ✓ a (1 ms)".split(
    "|",
  ),
  "Tests:       1 passed, 1 total",
  " ✓ a.test.ts > b 1ms",
  "      Tests  1 passed (1)",
  "  1 passing (1ms)",
  '{"stats":{"passes":1},"tests":[{"fullTitle":"a"}]}',
  '{"testResults":[{"name":"a","assertionResults":[{"status":"passed","title":"b"}]}],"numPassedTests":1}',
  '{"Action":"run","Package":"p","Test":"T"}',
  '{"Action":"pass","Package":"p","Test":"T"}',
  ..."=== RUN   T|--- PASS: T (0.00s)|PASS|FAIL|running 1 test|test a ... ok|test a ... |failures:".split(
    "|",
  ),
  "ok  \tp\t0.1s",
  "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
  ...'<testsuite tests="1">|<testcase classname="c" name="n">|<failure/>|</testcase>|</testsuite>|<![CDATA[|]]>|&amp;'.split(
    "|",
  ),
  ...[
    "__proto__",
    "constructor",
    "\x1b[31m",
    "\r",
    "\t",
    "\u2028",
    "\ufffd",
    "1",
    "{",
    "}",
    "(",
    "[",
    " > ",
    "#2",
  ],
];

const reportText = fc
  .array(
    fc.tuple(fc.oneof(fc.constantFrom(...PIECES), fc.string()), fc.constantFrom("\n", "\n", "\r\n", " ", "")),
  )
  .map((parts) => parts.flat().join(""));

describe("any text", () => {
  it("gives a report, the same each time, and a complete one only with tests", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...REPORT_FORMATS),
        reportText,
        reportText,
        fc.boolean(),
        (format, text, stderr, truncated) => {
          const given = input(text, { stderr, truncated });
          const { statuses, complete } = parsers[format](given);
          expect(parsers[format](given)).toEqual({ statuses, complete });
          for (const status of Object.values(statuses))
            expect(["passed", "failed", "skipped", "xfail"]).toContain(status);
          if (complete) expect([Object.keys(statuses).length > 0, truncated]).toEqual([true, false]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("is read in time linear in its length", () => {
    // A parser that is quadratic in one of these runs out of the test's time.
    const size = 50_000;
    const long = [
      "[",
      " ",
      "\r",
      "\x1b[",
      "\x1b]8;;",
      " (1ms)",
      " - ",
      "a (",
      " ... ",
      "0",
      "t (m.T.t) ... ",
      "doc ... FAIL",
    ];
    const many = [
      "▶ s\n",
      "# Subtest: a\n",
      "    ok 1 - a\n",
      "t (m.T.t)\n",
      "FAILED a.py::t - b\n",
      "{\n",
      "<testsuite>",
      "a#2\n",
    ];
    const heads = [
      "",
      "TAP version 13\n# Subtest: a\n",
      "ok ",
      "PASS ",
      " FAIL  ",
      "FAILED a.py::t[",
      "t (m.T.t) ... ",
    ];
    for (const format of REPORT_FORMATS)
      for (const [index, seed] of [...long, ...many].entries()) {
        const text = heads[index % heads.length]! + seed.repeat(size / seed.length);
        expect(parse(format, text, { stderr: format === "unittest" ? text : "" }).complete).toBe(false);
      }
  });
});

describe("duplicate names", () => {
  it("never take a name that a test has", () => {
    const report = parse(
      "junit",
      '<testsuite><testcase name="a#2"/><testcase name="a"/><testcase name="a"><failure/></testcase></testsuite>',
    );
    expect(report.statuses).toEqual({ "a#2": "passed", a: "passed", "a#3": "failed" });
  });

  it("are told apart over the runs of one unittest report", () => {
    const run = (status: string, verdict: string, ...details: string[]) =>
      lines(`test_x (m.T.test_x) ... ${status}`, "", ...details, "Ran 1 test in 0.1s", "", verdict);
    const details = ["=".repeat(70), "FAIL: test_x (m.T.test_x)", "-".repeat(70)];
    expect(parse("unittest", run("ok", "OK") + run("FAIL", "FAILED (failures=1)", ...details))).toEqual({
      statuses: { "test_x (m.T.test_x)": "passed", "test_x (m.T.test_x)#2": "failed" },
      complete: true,
    });
  });

  it("are told apart over cargo's targets where those are not named", () => {
    const target = lines(
      "running 1 test",
      "test works ... ok",
      "",
      "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
    );
    expect(parse("cargo-test", target + target)).toEqual({
      statuses: { works: "passed", "works#2": "passed" },
      complete: true,
    });
  });
});

describe("a summary that disagrees", () => {
  it.each<[ReportFormat, string]>([
    ["tap", lines("# a", "ok 1 b", "1..2")],
    ["tap", lines("# Subtest: a", "    ok 1 - b", "    1..2", "ok 1 - a", "1..1")],
    ["pytest", lines("a.py::t PASSED", "=== 2 passed in 0.1s ===")],
    ["pytest", lines("a.py::t PASSED", "=== 1 failed in 0.1s ===")],
    ["unittest", lines("t (m.T.t) ... ok", "Ran 2 tests in 0.1s", "OK")],
    ["unittest", lines("t (m.T.t) ... ok", "Ran 1 test in 0.1s", "FAILED (failures=1)")],
    ["node-test", lines("✔ a (1ms)", "ℹ tests 2", "ℹ suites 0", "ℹ duration_ms 1")],
    ["jest", lines("PASS ./a.test.js", "  ✓ a (1 ms)", "", "Tests:       2 passed, 2 total")],
    ["vitest", lines(" ✓ a.test.ts > b 1ms", "      Tests  1 failed (1)")],
    ["mocha", lines("  ✔ a", "", "  2 passing (1ms)")],
    ["mocha", '{"stats":{"passes":2,"pending":0,"failures":0},"tests":[{"fullTitle":"a","err":{}}]}'],
    ["go-test", lines("=== RUN   TestA", "PASS", "ok  \tp\t0.1s")],
    [
      "cargo-test",
      lines(
        "running 1 test",
        "test a ... ok",
        "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; ",
      ),
    ],
    ["junit", '<testsuite tests="2"><testcase name="a"/></testsuite>'],
    ["junit", '<testsuite tests="1" failures="1"><testcase name="a"/></testsuite>'],
  ])("leaves %s incomplete: %j", (format, text) => {
    const report = parse(format, text);
    expect(report.complete).toBe(false);
    expect(Object.keys(report.statuses).length).toBeLessThanOrEqual(2);
  });
});

describe("pytest", () => {
  it("ends an id at its brackets where only the short summary names it", () => {
    const report = parse(
      "pytest",
      lines(
        "=== short test summary info ===",
        "FAILED a.py::t[x - y] - assert 1 - 1",
        "FAILED a.py::plain - assert a[0] - 1",
        "ERROR a.py - SyntaxError: bad - input",
        "XPASS a.py::old fixed - long ago",
        "2 failed, 1 error, 1 xpassed in 1.00s",
      ),
    );
    expect(report.statuses).toEqual({
      "a.py::t[x - y]": "failed",
      "a.py::plain": "failed",
      "a.py": "failed",
      "a.py::old fixed": "xfail",
    });
  });

  it("takes the last short summary: one that a test printed comes before", () => {
    const fake = ["=== short test summary info ===", "PASSED a.py::fake"];
    const real = ["=== short test summary info ===", "PASSED a.py::t", "=== 1 passed in 0.1s ==="];
    expect(parse("pytest", lines("a.py .  [100%]", "=== PASSES ===", ...fake, ...real))).toEqual({
      statuses: { "a.py::t": "passed" },
      complete: true,
    });
  });

  it("is not complete where the run was ended early", () => {
    const text = lines("a.py::t PASSED", "!!! _pytest.outcomes.Exit: enough !!!", "=== 1 passed in 0.1s ===");
    expect(parse("pytest", text)).toEqual({ statuses: { "a.py::t": "passed" }, complete: false });
  });

  it("reads long runs, reruns and warnings", () => {
    const text = lines(
      "a.py::t RERUN  [ 50%]",
      "a.py::t PASSED [100%]",
      "== 1 passed, 2 warnings, 1 rerun in 75.32s (0:01:15) ==",
    );
    expect(parse("pytest", text)).toEqual({ statuses: { "a.py::t": "passed" }, complete: true });
  });
});

describe("unittest", () => {
  it("reads failed subtests as Python before 3.11 reports them: in the details alone", () => {
    const text = lines(
      "test_a (m.T) ... test_b (m.T) ... ok",
      "",
      "=".repeat(70),
      "FAIL: test_a (m.T) (i=1)",
      "-".repeat(70),
      "AssertionError",
      "",
      "-".repeat(70),
      "Ran 2 tests in 0.1s",
      "",
      "FAILED (failures=1)",
    );
    expect(parse("unittest", "", { stderr: text, exitCode: 1 })).toEqual({
      statuses: { "test_b (m.T)": "passed", "test_a (m.T)": "failed", "test_a (m.T) (i=1)": "failed" },
      complete: true,
    });
  });

  it("reads stdout only where stderr holds no report", () => {
    const report = (status: string) =>
      lines(`t (m.T.t) ... ${status}`, "Ran 1 test in 0.1s", status === "ok" ? "OK" : "FAILED (failures=1)");
    const both = parse("unittest", report("ok"), { stderr: report("FAIL"), exitCode: 1 });
    expect(both.statuses).toEqual({ "t (m.T.t)": "failed" });
    expect(parse("unittest", report("ok")).statuses).toEqual({ "t (m.T.t)": "passed" });
  });
});

describe("TAP", () => {
  it("keeps the names of flat reports", () => {
    const text = lines(
      "TAP version 13",
      "# first",
      "ok 1 a",
      "not ok 2 a",
      "# second",
      "ok 3 a # SKIP",
      "",
      "1..3",
    );
    expect(parse("tap", text, { scope: "test/a.js" })).toEqual(parseTap(text, "test/a.js"));
    expect(Object.keys(parse("tap", text).statuses)).toEqual(["first > a#1", "first > a#2", "second > a#1"]);
  });

  it("reads buffered subtests, and no result from a YAML block", () => {
    const text = lines(
      "TAP version 14",
      "# Subtest: file",
      "    ok 1 - outer {",
      "        ok 1 - inner",
      "          ---",
      "          ok 2 - not a result",
      "          ...",
      "        1..1",
      "    }",
      "    1..1",
      "ok 1 - file",
      "1..1",
    );
    expect(parse("tap", text)).toEqual({
      statuses: { "file > outer#1": "passed", "file > outer > inner#1": "passed", "file#1": "passed" },
      complete: true,
    });
  });

  it("is not complete after a bail-out, at any depth", () => {
    expect(parse("tap", lines("# a", "ok 1 b", "1..1", "Bail out! enough")).complete).toBe(false);
    const nested = lines("# Subtest: a", "    ok 1 - b", "    Bail out!", "    1..1", "ok 1 - a", "1..1");
    expect(parse("tap", nested).complete).toBe(false);
  });
});

describe("go test", () => {
  it("gives no test to a line that only looks like a result", () => {
    const text = lines(
      "=== RUN   TestA",
      "--- PASS: TestB (0.00s)",
      "--- PASS: TestA (0.00s)",
      "PASS",
      "ok  \tp\t0.1s",
    );
    expect(parse("go-test", text)).toEqual({ statuses: { "p > TestA": "passed" }, complete: true });
  });

  it("names no passing test without -v, and is not complete", () => {
    expect(parse("go-test", lines("ok  \tp\t0.1s", "ok  \tq\t(cached)"))).toEqual({
      statuses: {},
      complete: false,
    });
  });

  it("reads builds that failed before Go had an event for it", () => {
    const text = lines(
      '{"Action":"start","Package":"q"}',
      '{"Action":"skip","Package":"q"}',
      "FAIL\tp [build failed]",
    );
    expect(parse("go-test", text, { exitCode: 1 })).toEqual({ statuses: { p: "failed" }, complete: true });
  });
});

describe("JUnit XML", () => {
  it("decodes entities and character data, and reads past what was printed around the document", () => {
    const text = lines(
      "log: <not xml",
      '<?xml version="1.0"?>',
      '<testsuites><testsuite name="s" tests="2"><testcase classname="a &lt;b&gt;" name="&#x63;&quot;">',
      '<system-out><![CDATA[<testcase name="fake"/>]]></system-out></testcase>',
      '<testcase name="d"><error message="x"/></testcase></testsuite></testsuites>',
      "Done in 1s",
    );
    expect(parse("junit", text)).toEqual({
      statuses: { 'a <b> > c"': "passed", d: "failed" },
      complete: true,
    });
  });

  it("keeps what came before a mistake, and is not complete", () => {
    expect(parse("junit", '<testsuite><testcase name="a"/><testcase name="b"><failure></testsuite>')).toEqual(
      {
        statuses: { a: "passed" },
        complete: false,
      },
    );
  });

  it("does not expand entities that a document declares", () => {
    const text = '<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>';
    expect(parse("junit", text).complete).toBe(false);
  });

  it("counts what did not run as skipped", () => {
    const text =
      '<testsuite><testcase name="a" status="notrun"/><testcase name="b"><skipped/></testcase></testsuite>';
    expect(parse("junit", text).statuses).toEqual({ a: "skipped", b: "skipped" });
  });
});

describe("reward files", () => {
  it.each([
    ["1", "passed"],
    ["1.0\n", "passed"],
    ["0", "failed"],
    ["0.5", "failed"],
    ["-1e3", "failed"],
    ['{"reward": 1}', "passed"],
    ['{"reward": 0.99, "other": 1}', "failed"],
  ])("%j is a reward: %s", (text, status) => {
    expect(parse("reward", text)).toEqual({ statuses: { reward: status }, complete: true });
  });

  it.each([
    "",
    "nan",
    "inf",
    "1e999",
    "1 1",
    "0x1",
    "true",
    "{}",
    '{"reward": "1"}',
    '{"reward": null}',
    '{"reward": 1',
    "[1]",
  ])("%j is none", (text) => {
    expect(parse("reward", text)).toEqual({ statuses: {}, complete: false });
  });
});
