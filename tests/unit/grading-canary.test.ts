/** The canary: what its run must say, and which command runs it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StatusMap, TestStatus } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { canaryOf, toldTheTruth } from "../../services/grading/canary.ts";

const status = fc.constantFrom<TestStatus[]>("passed", "failed", "skipped", "xfail");
const run = (statuses: readonly TestStatus[], complete = true, contradictions: string[] = []) => ({
  report: { statuses: Object.fromEntries(statuses.map((one, i) => [`t${i}`, one])) as StatusMap, complete },
  contradictions,
});

describe("toldTheTruth", () => {
  it("needs every assertion to have failed, and nothing else", () => {
    fc.assert(
      fc.property(fc.array(status, { maxLength: 8 }), (statuses) => {
        const isTrue = statuses.length === 5 && statuses.every((one) => one === "failed");
        expect(toldTheTruth(run(statuses))).toBe(isTrue);
      }),
      { examples: [[Array(5).fill("failed")], [["failed", "failed", "failed", "failed", "passed"]]] },
    );
  });

  it("believes no report that is incomplete, or that its exit code contradicts", () => {
    const failed: TestStatus[] = Array(5).fill("failed");
    expect(toldTheTruth(run(failed))).toBe(true);
    expect(toldTheTruth(run(failed, false))).toBe(false);
    expect(toldTheTruth(run(failed, true, ["x"]))).toBe(false);
  });
});

describe("canaryOf", () => {
  const environment = (framework: string, argv: readonly string[]) =>
    ({
      entry: { name: "p", source: "npm:p@1", role: "train", sources: ["p.js"], tests: ["test"], framework },
      commands: [{ scope: "", argv, format: "junit", reportFile: "/tmp/r.xml" }],
      image: null,
    }) as unknown as PreparedEnvironment;

  it("runs by the environment's command, with the canary in the tests' place", () => {
    const canary = canaryOf(environment("pytest", ["python3", "-m", "pytest", "-x", "test"]), "abc")!;
    expect(canary.command.argv).toEqual(["python3", "-m", "pytest", "-x", "cabc/test_abc.py"]);
    expect(canary.command.reportFile).toBe("/tmp/r.xml");
    expect(canary.file.path).toBe("cabc/test_abc.py");
  });

  it("is under a name that depends on the secret alone", () => {
    const paths = ["a1", "b2"].map(
      (name) => canaryOf(environment("mocha", ["mocha", "test"]), name)!.file.path,
    );
    expect(new Set(paths).size).toBe(2);
  });

  it("is not there for commands of an image, nor for other frameworks", () => {
    expect(
      canaryOf({ ...environment("pytest", []), image: { reference: "i", workdir: "/w" } }, "a"),
    ).toBeUndefined();
    expect(canaryOf(environment("go-test", ["go", "test"]), "a")).toBeUndefined();
  });
});
