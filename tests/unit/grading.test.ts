/** The one rule, what a change may not decide, limits, and the output of a warm server. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TestStatus } from "../../core/task.ts";
import { agrees } from "../../services/grading/exit-codes.ts";
import { FramedOutput } from "../../services/grading/framed-output.ts";
import { decide as decideWith, limitsOf, type TestRunResult } from "../../services/grading/index.ts";
import { testMounts, withoutProtected } from "../../services/grading/protect.ts";

const UNSTABLE = ["g > t > flaky#1"];
const decide = (task: Parameters<typeof decideWith>[0], result: Parameters<typeof decideWith>[1]) =>
  decideWith(task, result, UNSTABLE);
const TASK = { failToPass: ["f > t > new#1"], passToPass: ["f > t > old#1", "g > t > old#1"] };

function run(
  over: Partial<TestRunResult> & { statuses?: Record<string, TestStatus>; complete?: boolean } = {},
) {
  const { statuses, complete, ...rest } = over;
  const all: Record<string, TestStatus> = {
    "f > t > new#1": "passed",
    "f > t > old#1": "passed",
    "g > t > old#1": "passed",
    ...statuses,
  };
  return {
    report: { statuses: all, complete: complete ?? true },
    contradictions: [],
    ended: true,
    outOfMemory: false,
    ...rest,
  };
}

const without = (name: string) => {
  const { [name]: _, ...rest } = run().report.statuses;
  return { ...run(), report: { statuses: rest, complete: true } };
};

describe("decide", () => {
  it("passes when every test passed and everything agrees", () => {
    expect(decide(TASK, run())).toEqual({ outcome: "passed", rule: "all-passed", offending: [] });
    const extra = run({ statuses: { "g > t > extra#1": "skipped" } });
    expect(decide(TASK, extra).outcome).toBe("passed");
  });

  it.each<TestStatus>(["failed", "skipped", "xfail"])("fails a fail-to-pass test that is %s", (status) => {
    expect(decide(TASK, run({ statuses: { "f > t > new#1": status } }))).toEqual({
      outcome: "failed",
      rule: "fail-to-pass-failed",
      offending: ["f > t > new#1"],
    });
  });

  it("fails absent tests of both kinds", () => {
    expect(decide(TASK, without("f > t > new#1")).rule).toBe("fail-to-pass-failed");
    expect(decide(TASK, without("g > t > old#1"))).toMatchObject({
      rule: "pass-to-pass-failed",
      offending: ["g > t > old#1"],
    });
  });

  it("fails a task without a fail-to-pass test, and a run without a report", () => {
    expect(decide({ failToPass: [], passToPass: [] }, run()).outcome).toBe("failed");
    expect(decide(TASK, { ...run(), report: { statuses: {}, complete: true } }).rule).toBe("no-tests-parsed");
  });

  it("fails what only claims to pass: an exit code that its report contradicts, a report that is not whole", () => {
    expect(decide(TASK, run({ contradictions: ["g"] }))).toMatchObject({
      rule: "exit-code",
      offending: ["g"],
    });
    expect(decide(TASK, run({ complete: false })).rule).toBe("exit-code");
  });

  it("accepts a failing test that is unstable, and no other", () => {
    const withFailing = (name: string) => run({ statuses: { [name]: "failed" } });
    expect(decide(TASK, withFailing("g > t > flaky#1")).outcome).toBe("passed");
    expect(decide(TASK, withFailing("g > t > old#2"))).toMatchObject({
      rule: "pass-to-pass-failed",
      offending: ["g > t > old#2"],
    });
  });

  const verifier = { files: [], commands: [], exact: null, timeoutSeconds: 60 };

  it("lets tests fail that a verifier's task does not name, and nothing else", () => {
    const task = { ...TASK, verifier };
    expect(decide(task, run({ statuses: { "g > t > other#1": "failed" } })).outcome).toBe("passed");
    expect(decide(task, without("g > t > old#1")).rule).toBe("pass-to-pass-failed");
    expect(decide(task, run({ complete: false })).rule).toBe("exit-code");
  });

  it("wants a verifier's tests to pass each time their names occur", () => {
    const task = { failToPass: ["t.py::new"], passToPass: ["old#1"], verifier };
    const said = (statuses: Record<string, TestStatus>) => {
      const all = { "t.py::new": "passed", "old#1": "passed", ...statuses } as const;
      const { outcome, offending } = decide(task, { ...run(), report: { statuses: all, complete: true } });
      return [outcome, ...offending];
    };
    expect(said({ "t.py::new#2": "passed", "other#2": "failed", "old#3": "failed" })).toEqual(["passed"]);
    expect(said({ "t.py::new#2": "failed" })).toEqual(["failed", "t.py::new#2"]);
    expect(said({ "t.py::new#2": "passed", "t.py::new#10": "skipped" })).toEqual(["failed", "t.py::new#10"]);
    expect(said({ "old#1#2": "failed" })).toEqual(["failed", "old#1#2"]);
  });

  it("asks for exactly the statuses of an exact map", () => {
    const exact = { a: "passed", b: "failed", c: "skipped" } as const;
    const task = { failToPass: ["a"], passToPass: [], verifier: { ...verifier, exact } };
    const with_ = (statuses: Record<string, TestStatus>) => ({
      ...run(),
      report: { statuses, complete: true },
    });
    expect(decide(task, with_(exact)).outcome).toBe("passed");
    const differing = (statuses: Record<string, TestStatus>) => {
      const { outcome, rule, offending } = decide(task, with_(statuses));
      return [outcome, rule, ...offending];
    };
    expect(differing({ ...exact, b: "passed" })).toEqual(["failed", "statuses-differ", "b"]);
    expect(differing({ ...exact, d: "passed" })).toEqual(["failed", "statuses-differ", "d"]);
    expect(differing({ a: "passed", b: "failed" })).toEqual(["failed", "statuses-differ", "c"]);
    expect(decide(task, with_({})).rule).toBe("no-tests-parsed");
  });

  it("fails a run that was ended by a limit, whatever its report says", () => {
    expect(decide(TASK, run({ ended: false, stoppedBy: "cpu" })).rule).toBe("timeout");
    expect(decide(TASK, run({ ended: false, stoppedBy: "timeout" })).rule).toBe("timeout");
    expect(decide(TASK, run({ ended: false, stoppedBy: "memory", outOfMemory: true })).rule).toBe("killed");
    expect(decide(TASK, run({ ended: false, stoppedBy: "processes" })).rule).toBe("killed");
  });

  it("is not fooled by names of Object's own properties", () => {
    const task = { failToPass: ["constructor"], passToPass: [] };
    expect(decide(task, run()).rule).toBe("fail-to-pass-failed");
  });

  it("never passes unless each wanted test is there and passed", () => {
    const statuses = fc.constantFrom<TestStatus | undefined>(
      "passed",
      "failed",
      "skipped",
      "xfail",
      undefined,
    );
    fc.assert(
      fc.property(
        fc.array(statuses, { minLength: 1, maxLength: 8 }),
        fc.nat(8),
        fc.boolean(),
        (all, split, ended) => {
          const names = all.map((_, index) => `f > t > a#${index + 1}`);
          const present = Object.fromEntries(
            names.flatMap((name, index) => (all[index] === undefined ? [] : [[name, all[index]!]])),
          );
          const verdict = decide(
            { failToPass: names.slice(0, split), passToPass: names.slice(split) },
            {
              report: { statuses: present, complete: true },
              contradictions: [],
              ended,
              outOfMemory: false,
            },
          );
          const deserved = ended && all.every((status) => status === "passed") && split > 0;
          expect(verdict.outcome === "passed").toBe(deserved);
        },
      ),
    );
  });
});

describe("protected paths", () => {
  const entry = {
    sources: ["index.js", "lib/a.js"],
    tests: ["test/a.js", "test/deep/b.js", "lib/a.test.js", "lib/tests/c.js", "check.js"],
  };

  const environment = {
    entry: { name: "x", source: "npm:x@1.0.0", role: "train", framework: "tape", ...entry },
    commands: [{ scope: "check.js", argv: ["node", "check.js"], format: "tap", reportFile: null }],
    image: null,
  } as const;

  it("are the folders of tests alone, and single files elsewhere", () => {
    expect(testMounts(entry)).toEqual(["check.js", "lib/a.test.js", "lib/tests", "test"]);
    expect(testMounts({ sources: [], tests: ["lib/test.py", "tests"] })).toEqual(["lib/test.py", "tests"]);
  });

  it("are taken out of a change, with modules, test configuration and what would replace their folder", () => {
    const paths = [
      ...[
        "index.js",
        "lib/b.js",
        "testing.js",
        "test",
        "test/a.js",
        "test/new.js",
        "lib/a.test.js",
        "lib/a.test.js/x",
        "lib/tests/helper.js",
      ],
      ...["check.js", "package.json", "node_modules/tape/index.js", "node_modules", "lib"],
    ];
    const change = paths.map((path) => ({ kind: "delete" as const, path }));
    expect(withoutProtected(change, { environment }).map(({ path }) => path)).toEqual([
      "index.js",
      "lib/b.js",
      "testing.js",
    ]);
  });
});

describe("an exit code", () => {
  const passed = { "t > a": "passed" } as const;
  const failed = { "t > a": "passed", "t > b": "failed" } as const;

  it("of a test file is 0 exactly when no test of it failed", () => {
    const file = { format: "tap", argv: ["node", "t"] } as const;
    expect([0, 1, null].map((code) => agrees(file, code, passed))).toEqual([true, false, false]);
    expect([0, 1, 3, null].map((code) => agrees(file, code, failed))).toEqual([false, true, true, true]);
  });

  it.each([
    ["pytest", [1, 2], [3, 4, 5, null]],
    ["unittest", [1], [2, 5, null]],
    ["node-test", [1], [7, null]],
    ["jest", [1], [2, null]],
    ["vitest", [1], [2, null]],
    ["mocha", [1, 2, 17], []],
    ["go-test", [1], [2, null]],
    ["cargo-test", [101], [1, null]],
    ["junit", [1, 2], []],
  ] as const)("of %s is one that the runner gives", (format, right, wrong) => {
    const command = { format, argv: ["runner"] };
    expect(agrees(command, 0, passed)).toBe(true);
    expect(agrees(command, 0, failed)).toBe(false);
    for (const code of right)
      expect({ code, agrees: agrees(command, code, failed) }).toEqual({ code, agrees: true });
    for (const code of right) expect(agrees(command, code, passed)).toBe(false);
    for (const code of wrong)
      expect({ code, agrees: agrees(command, code, failed) }).toEqual({ code, agrees: false });
  });

  it("of a script is its own: 0 says nothing, another one needs a failure", () => {
    const script = { format: "pytest", argv: ["/bin/bash", "/eval.sh"] } as const;
    expect([0, 1, 77, null].map((code) => agrees(script, code, failed))).toEqual([true, true, true, false]);
    expect([0, 1, 77, null].map((code) => agrees(script, code, passed))).toEqual([true, false, false, false]);
  });

  it("says nothing about a reward, which is read from a file", () => {
    const reward = { format: "reward", argv: ["bash", "/tests/test.sh"] } as const;
    expect([0, 1, null].map((code) => agrees(reward, code, passed))).toEqual([true, true, false]);
  });
});

describe("limitsOf", () => {
  it("gives every run a second, and a slow baseline its multiple; wall time is far behind", () => {
    expect(limitsOf({ cpuSeconds: 0.01 }).cpuSeconds).toBe(1);
    expect(limitsOf({ cpuSeconds: 2 }).cpuSeconds).toBe(10);
    expect(limitsOf({ cpuSeconds: 2 }).wallSeconds).toBeGreaterThanOrEqual(100);
  });
});

describe("FramedOutput", () => {
  const ending = { code: 1, cpuSeconds: 0.5, retire: false, touched: false };
  const framed = (body: string) => `noise\nn start\n${body}\nn end ${JSON.stringify(ending)}\nmore noise`;

  it("finds each file's output however the stream is cut", () => {
    const stream = Buffer.from(framed("ok 1 ü\nn almost") + framed(""));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const files: unknown[] = [];
        const output = new FramedOutput("n", (end, printed) =>
          files.push([end, Buffer.from(printed.stdout).toString("utf8"), printed.stdoutTruncated]),
        );
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          output.push(stream.subarray(at, at + size));
          at += size;
        }
        expect(files).toEqual([
          [ending, "ok 1 ü\nn almost", false],
          [ending, "", false],
        ]);
      }),
    );
  });

  it("keeps no more than the limit and still sees the end", () => {
    const files: [number, boolean][] = [];
    const output = new FramedOutput(
      "n",
      (_, printed) => files.push([printed.stdout.length, printed.stdoutTruncated]),
      10,
    );
    output.push(Buffer.from(framed("0123456789ABC")));
    expect(files).toEqual([[10, true]]);
  });

  it("gives what was printed when the end never comes", () => {
    const output = new FramedOutput("n", () => {});
    output.push(Buffer.from("\nn start\nhalf a li"));
    expect(Buffer.from(output.printed().stdout).toString()).toBe("half a li");
  });
});
