/** TAP reports: tape's own output, and what other output does to it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TestStatus } from "../../core/task.ts";
import { mergeReports, parseTap } from "../../services/grading/index.ts";

/** Printed by tape 4.2 for three tests, the second failing and the third with a message twice. */
const TAPE = `TAP version 13
# adds
ok 1 one and one
ok 2 should be equal
# parses
not ok 3 should be equivalent
  ---
    operator: deepEqual
    expected: { a: 1 }
    actual:   { a: 2 }
    at: Test.<anonymous> (/repo/test/x.js:9:4)
    stack: |-
      Error: should be equivalent
          at Test.assert [as _assert] (/repo/node_modules/tape/lib/test.js:226:54)
  ...
ok 4 should be equal
# joins
ok 5 same
ok 6 same

1..6
# tests 6
# pass  5
# fail  1

`;

describe("parseTap", () => {
  it("reads tape's output", () => {
    expect(parseTap(TAPE, "test/x.js")).toEqual({
      complete: true,
      statuses: {
        "test/x.js > adds > one and one#1": "passed",
        "test/x.js > adds > should be equal#1": "passed",
        "test/x.js > parses > should be equivalent#1": "failed",
        "test/x.js > parses > should be equal#1": "passed",
        "test/x.js > joins > same#1": "passed",
        "test/x.js > joins > same#2": "passed",
      },
    });
  });

  it("renames nothing when results elsewhere come or go", () => {
    const shorter = TAPE.replace("ok 2 should be equal\n", "").replace("ok 1 one", "ok 9 one");
    const { statuses } = parseTap(shorter, "f");
    expect(Object.keys(statuses)).toContain("f > parses > should be equal#1");
    expect(Object.keys(statuses)).toContain("f > joins > same#2");
  });

  it("reads directives of any case; none counts as passed", () => {
    const { statuses } = parseTap(
      "# t\nok 1 a # SKIP\nok 2 b # skip not here\nnot ok 3 c # TODO later\nok 4 d # todo\nok 5 issue # 7\n1..5\n",
      "f",
    );
    expect(statuses).toEqual({
      "f > t > a#1": "skipped",
      "f > t > b#1": "skipped",
      "f > t > c#1": "xfail",
      "f > t > d#1": "xfail",
      "f > t > issue # 7#1": "passed",
    });
  });

  it("reads results without numbers, without names, and with TAP 14's dash", () => {
    const { statuses, complete } = parseTap("TAP version 14\n1..3\nok\nnot ok 2\nok 3 - named\n", "f");
    expect(statuses).toEqual({ "f >  > #1": "passed", "f >  > #2": "failed", "f >  > named#1": "passed" });
    expect(complete).toBe(true);
  });

  it.each([
    ["nothing", ""],
    ["no plan", TAPE.replace("1..6", "")],
    ["a cut tail", TAPE.slice(0, TAPE.indexOf("ok 5"))],
    ["a plan of more", TAPE.replace("1..6", "1..7")],
    ["two plans", `${TAPE}1..6\n`],
    ["a bail-out", `${TAPE}Bail out! no database\n`],
    ["a number left out", TAPE.replace("ok 5 same", "ok 7 same")],
    ["a number twice", TAPE.replace("ok 2 should", "ok 1 should")],
    ["two results swapped", TAPE.replace("ok 5", "ok 6").replace("ok 6 same\n\n", "ok 5 same\n\n")],
    ["an extra result", TAPE.replace("# joins", "ok 5 fake\n# joins")],
    ["a second report inside", TAPE.replace("# joins", `${TAPE}# joins`)],
  ])("is not complete with %s", (_, text) => {
    expect(parseTap(text, "f").complete).toBe(false);
  });

  it("does not take lines of other kinds for results", () => {
    const noise = [
      "okay",
      "not okay",
      " ok 1 indented",
      "broken ok 2",
      "    not ok 3 sub",
      "1..x",
      "#",
      "ok1",
    ];
    const { statuses, complete } = parseTap(`# t\n${noise.join("\n")}\nok 1 real\n1..1\n`, "f");
    expect(complete).toBe(true);
    expect(Object.values(statuses)).toEqual(["passed"]);
  });

  const word = fc.stringMatching(/^[a-z][a-z ().,=]{0,12}$/).map((name) => name.trim());
  const tests = fc.array(
    fc.record({
      name: word,
      results: fc.array(fc.record({ name: word, ok: fc.boolean() }), { maxLength: 5 }),
    }),
    { maxLength: 6 },
  );

  it("finds every result of any report, once, in order, whatever is logged between lines", () => {
    fc.assert(
      fc.property(
        tests,
        fc.array(fc.stringMatching(/^[A-Z]{1,8} [a-z]{0,8}$/), { maxLength: 8 }),
        (plan, logs) => {
          let number = 0;
          const lines = plan.flatMap((test) => [
            `# ${test.name}`,
            ...test.results.flatMap((result) => [
              ...(logs[number % 8] === undefined ? [] : [logs[number % 8]!]),
              `${result.ok ? "ok" : "not ok"} ${++number} ${result.name}`,
            ]),
          ]);
          const report = parseTap(`TAP version 13\n${lines.join("\n")}\n\n1..${number}\n`, "f");
          const expected = plan.flatMap((test) =>
            test.results.map((result): TestStatus => (result.ok ? "passed" : "failed")),
          );
          expect(Object.values(report.statuses)).toEqual(expected);
          expect(report.complete).toBe(true);
        },
      ),
    );
  });

  it("never calls a cut report complete", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: TAPE.indexOf("1..6") + 3 }), (length) => {
        expect(parseTap(TAPE.slice(0, length), "f").complete).toBe(false);
      }),
    );
  });
});

describe("mergeReports", () => {
  it("is complete when there are reports and all are", () => {
    const complete = parseTap("ok 1 a\n1..1\n", "f");
    expect(mergeReports([complete, parseTap("ok 1 a\n1..1\n", "g")])).toEqual({
      complete: true,
      statuses: { "f >  > a#1": "passed", "g >  > a#1": "passed" },
    });
    expect(mergeReports([complete, parseTap("ok 1 a\n", "g")]).complete).toBe(false);
    expect(mergeReports([]).complete).toBe(false);
  });
});
