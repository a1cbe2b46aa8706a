/** The canary: what its run must say, and which command runs it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "canary-"));
    writeFileSync(join(root, "go.mod"), 'module "example.org/m/v2" // its path\n\ngo 1.22\n');
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const environment = (
    framework: string,
    argv: readonly string[],
    { format = "junit", tests = ["test"], sources = ["p.js"] } = {},
  ) =>
    ({
      entry: { name: "p", source: "npm:p@1", role: "train", sources, tests, framework },
      commands: [{ scope: "", argv, format, reportFile: "/tmp/r.xml" }],
      image: null,
      root,
    }) as unknown as PreparedEnvironment;
  const argvOf = (...parts: Parameters<typeof environment>) =>
    canaryOf(environment(...parts), "abc")?.command.argv;

  it("runs by the environment's command, with the canary in the tests' place", () => {
    const canary = canaryOf(environment("pytest", ["python3", "-m", "pytest", "-x", "test"]), "abc")!;
    expect(canary.command.argv).toEqual(["python3", "-m", "pytest", "-x", "cabc/test_abc.py"]);
    expect(canary.command.reportFile).toBe("/tmp/r.xml");
    expect(canary.file.path).toBe("cabc/test_abc.py");
  });

  it.each(["jest", "vitest"])("has a test's own name where %s looks for names", (framework) => {
    const tests = ["src/__snapshots__", "src/a.spec.ts"];
    expect(argvOf(framework, [framework, "run", ...tests], { tests })).toEqual([
      ...[framework, "run", "cabc/a.spec.ts"],
    ]);
  });

  it("is a package of Go that imports each package of sources once, by the module's path", () => {
    const sources = ["b/b.go", "a.go", "b/c.go"];
    const canary = canaryOf(environment("go-test", ["go", "test", "-json", "./..."], { sources }), "abc")!;
    expect(canary.command.argv).toEqual(["go", "test", "-json", "./cabc"]);
    const text = canary.file.kind === "write" ? canary.file.content : "";
    expect([...text.matchAll(/_ "(.*)"/g)].map(([, path]) => path)).toEqual([
      ...["example.org/m/v2", "example.org/m/v2/b"],
    ]);
  });

  it.each([
    ["jest", ["node", "jest.js", "test"], ["node", "jest.js", "cabc/canary.test.js"]],
    ["junit", ["npx", "mocha", "test"], ["npx", "mocha", "cabc/canary.test.js"]],
    ["junit", ["python3", "-m", "pytest", "test"], ["python3", "-m", "pytest", "cabc/test_abc.py"]],
    ["junit", ["bash", "-c", "npx jest --ci  test"], ["bash", "-c", "npx jest --ci  cabc/canary.test.js"]],
    ["go-test", ["bash", "-c", "go test -v ./..."], ["bash", "-c", "go test -v ./cabc"]],
    ["junit", ["make", "test"], undefined],
    ["tap", ["node", "test"], undefined],
    ["cargo-test", ["cargo", "test"], undefined],
  ])("knows the tool of one's own command by its report: %s of %j", (format, argv, expected) => {
    expect(argvOf("command", argv, { format })).toEqual(expected);
  });

  it("is under a name that depends on the secret alone", () => {
    const paths = ["a1", "b2"].map(
      (name) => canaryOf(environment("mocha", ["mocha", "test"]), name)!.file.path,
    );
    expect(new Set(paths).size).toBe(2);
  });

  it("is not there without commands, nor for Go without a module", () => {
    expect(canaryOf({ ...environment("pytest", []), commands: [] }, "a")).toBeUndefined();
    const bare = { ...environment("go-test", ["go", "test"]), root: join(root, "none") };
    expect(canaryOf(bare, "a")).toBeUndefined();
  });
});
