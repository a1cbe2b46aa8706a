/** The canary: what its run must say, and which command runs it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, StatusMap, TestStatus } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { canariesOf, saidBy, toldTheTruth } from "../../services/grading/canary.ts";

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

describe("saidBy", () => {
  it("calls a run a lie only where an assertion that is false was reported as passed", () => {
    fc.assert(
      fc.property(fc.array(status, { maxLength: 8 }), fc.boolean(), (statuses, ended) => {
        const said = saidBy({ ...run(statuses, false, ["x"]), ended });
        const failed = statuses.filter((one) => one === "failed").length;
        if (!ended) expect(said).toBeUndefined();
        else if (failed >= 5) expect(said).toBe("truth");
        else expect(said).toBe(statuses.includes("passed") ? "lie" : undefined);
      }),
      {
        examples: [
          [[], true],
          [["failed"], true],
          [["passed"], true],
          [["failed", "failed", "failed", "failed", "failed", "passed"], true],
        ],
      },
    );
  });
});

describe("canariesOf", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "canary-"));
    const files = {
      "go.mod": 'module "example.org/m/v2" // its path\n\ngo 1.22\n',
      ...{
        "a.go": "package m\n",
        "b/b.go": "package b\n",
        "b/c.go": "package b\n",
        "cmd/x.go": "package main\n",
      },
      ...{ "b/internal/d.go": "package d\n", "internal/e.go": "package e\n" },
      ...{ "p.js": "", "q.cjs": "", "r.mjs": "", "s.ts": "", "t.py": "" },
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
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
    canariesOf(environment(...parts), "abc")[0]?.command.argv;

  it("runs by the environment's command, with the canary in the tests' place", () => {
    const canary = canariesOf(environment("pytest", ["python3", "-m", "pytest", "-x", "test"]), "abc")[0]!;
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

  const go = (sources: string[], overlay: FileChange[] = []) => {
    const [canary] = canariesOf(
      environment("go-test", ["go", "test", "-json", "./..."], { sources }),
      "abc",
      overlay,
    );
    return canary && { argv: canary.command.argv, packages: matches(canary.file, /_ "(.*)"/g) };
  };
  const matches = (file: FileChange, pattern: RegExp) =>
    file.kind === "write" ? [...file.content.matchAll(pattern)].map(([, found]) => found) : [];

  it("is a package of Go that imports each package of sources once, by the module's path", () => {
    expect(go(["b/b.go", "a.go", "b/c.go", "internal/e.go"])).toEqual({
      argv: ["go", "test", "-json", "./cabc"],
      packages: ["example.org/m/v2", "example.org/m/v2/b", "example.org/m/v2/internal"],
    });
  });

  it("imports no package of Go that is gone, a program, or internal to another folder", () => {
    const gone = ["b/b.go", "b/c.go"].map((path): FileChange => ({ kind: "delete", path }));
    const sources = ["a.go", "b/b.go", "b/c.go", "cmd/x.go", "b/internal/d.go"];
    expect(go(sources, gone)?.packages).toEqual(["example.org/m/v2"]);
    expect(go(sources, gone.slice(1))?.packages).toEqual(["example.org/m/v2", "example.org/m/v2/b"]);
    expect(go(["b/b.go"], gone)).toBeUndefined();
  });

  const LOADS = /(?:require|import)\("\.\.\/(.*?)"\)/g;
  const sources = ["p.js", "q.cjs", "r.mjs", "s.ts", "t.py", "none.js"];
  it.each([
    ["mocha", ["p.js", "q.cjs", "t.py"], "canary.test.js", ["p.js", "q.cjs"]],
    ["node-test", ["p.js", "none.js"], "canary.test.js", ["p.js"]],
    ["node-test", sources, "canary.test.mjs", ["p.js", "q.cjs", "r.mjs", "s.ts"]],
    ["mocha", ["s.ts"], "canary.test.mjs", ["s.ts"]],
    ["tape", ["p.js", "r.mjs"], "add.mjs", ["p.js", "r.mjs"]],
    ["jest", sources, "canary.test.js", ["p.js", "q.cjs", "r.mjs", "s.ts"]],
    ["vitest", sources, "canary.test.js", ["p.js", "q.cjs", "r.mjs", "s.ts"]],
  ])("of %s loads those of %j that are there, by %s", (framework, listed, file, loaded) => {
    const tests = [framework === "tape" ? "test/add.js" : "test"];
    const made = canariesOf(environment(framework, ["x", "test"], { sources: listed, tests }), "abc");
    for (const canary of made) {
      expect(canary.file.path).toBe(`cabc/${file}`);
      expect([...new Set(matches(canary.file, LOADS))]).toEqual(loaded);
    }
    const keeps = made.map((canary) => matches(canary.file, /(process\.exit) = function/g).length);
    expect(keeps).toEqual([0, 1]);
  });

  it("is a module in a package of modules", () => {
    const modules: FileChange = {
      ...{ kind: "write", path: "package.json", encoding: "utf8" },
      content: '{ "type": "module" }',
    };
    const [canary] = canariesOf(environment("mocha", ["mocha", "test"]), "abc", [modules]);
    expect(canary?.file.path).toBe("cabc/canary.test.mjs");
  });

  it.each([
    ["jest", ["node", "jest.js", "test"], ["node", "jest.js", "cabc/canary.test.js"]],
    ["junit", ["npx", "mocha", "test"], ["npx", "mocha", "cabc/canary.test.js"]],
    ["junit", ["python3", "-m", "pytest", "test"], ["python3", "-m", "pytest", "cabc/test_abc.py"]],
    ["junit", ["bash", "-c", "npx jest --ci  test"], ["bash", "-c", "npx jest --ci  cabc/canary.test.js"]],
    ["go-test", ["bash", "-c", "go test -v ./..."], ["bash", "-c", "go test -v ./cabc"], ["a.go"]],
    ["junit", ["make", "test"], undefined],
    ["tap", ["node", "test"], undefined],
    ["cargo-test", ["cargo", "test"], undefined],
  ])(
    "knows the tool of one's own command by its report: %s of %j",
    (format, argv, expected, sources = ["p.js"]) => {
      expect(argvOf("command", argv, { format, sources })).toEqual(expected);
    },
  );

  it("is under a name that depends on the secret alone", () => {
    const paths = ["a1", "b2"].map(
      (name) => canariesOf(environment("mocha", ["mocha", "test"]), name)[0]!.file.path,
    );
    expect(new Set(paths).size).toBe(2);
  });

  it("is not there without commands, nor for Go without a module", () => {
    expect(canariesOf({ ...environment("pytest", []), commands: [] }, "a")).toEqual([]);
    const bare = { ...environment("go-test", ["go", "test"]), root: join(root, "none") };
    expect(canariesOf(bare, "a")).toEqual([]);
  });
});
