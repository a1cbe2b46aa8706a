/** What a change may not decide, by the format its tests are reported in; where a verifier's files go; what a verdict rests on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FileChange,
  REPORT_FORMATS,
  type ReportFormat,
  type Task,
  type Verifier,
} from "../../core/task.ts";
import type { CatalogueEntry, PreparedEnvironment } from "../../services/environments/types.ts";
import { commandsOf } from "../../services/grading/commands.ts";
import { evidenceKey, evidenceOf, limitsOf, taskHash, verifierLimits } from "../../services/grading/index.ts";
import { mountsOf, withoutProtected } from "../../services/grading/protect.ts";
import { steersTests } from "../../services/grading/protected-paths.ts";
import { splitFiles } from "../../services/grading/verifier-files.ts";

const write = (path: string, content = ""): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});
const command = (format: ReportFormat, reportFile: string | null = null) => ({
  ...{ scope: "", argv: ["run"], format, reportFile },
});

const verifierOf = (format: ReportFormat, files: readonly FileChange[] = []): Verifier => ({
  ...{ files, commands: [command(format)], exact: null, timeoutSeconds: 60 },
});

function environmentOf(
  format: ReportFormat,
  workdir: string | null = null,
  reportFile: string | null = null,
): PreparedEnvironment {
  const entry: CatalogueEntry = {
    name: "x",
    source: "pypi:x==1.0.0",
    role: "train",
    framework: "command",
    sources: ["src/x.py"],
    tests: ["tests"],
  };
  return {
    ...{ key: "x@1.0.0-0123456789ab", root: "/host/root", modules: "/host/modules" },
    entry,
    image: workdir === null ? null : { reference: "sha256:0", workdir },
    mounts: [{ source: "/host/tools", target: "/tools" }],
    env: {},
    commands: [command(format, reportFile)],
    ...{ baseline: {}, baselineRuns: 1, cpuSeconds: 1, unstable: [] },
  };
}

const kept = (paths: readonly string[], judge: Parameters<typeof withoutProtected>[1]) =>
  withoutProtected(
    paths.map((path) => write(path)),
    judge,
  ).map(({ path }) => path);

const taskOf = (over: Partial<Task> = {}): Task => ({
  ...{ id: "t0", environment: "x@1.0.0-0123456789ab", type: "bug", generator: "import" },
  ...{ base: [write("src/x.py", "bug")], gold: [write("src/x.py", "fix")], hiddenFiles: ["tests/test_x.py"] },
  ...{ failToPass: ["a"], passToPass: ["b"], functions: [], facts: { sites: [], reproduction: null } },
  ...over,
});

describe("paths that steer tests", () => {
  it.each<[ReportFormat, string[], string[]]>([
    [
      "tap",
      ["package.json", ".npmrc", "node_modules/tape/index.js"],
      ["index.js", "lib/package.json", "tsconfig.json"],
    ],
    ["mocha", [".mocharc.cjs", "test/mocha.opts", "tsconfig.build.json", "package.json"], ["lib/mocha.js"]],
    [
      "jest",
      ["jest.config.ts", "packages/a/jest.config.js", "babel.config.js", "src/__mocks__/fs.js"],
      ["src/jest.ts"],
    ],
    ["vitest", ["vitest.config.ts", "vite.config.mts", "vitest.workspace.ts"], ["src/vite.ts"]],
    [
      "pytest",
      [
        ...["conftest.py", "src/x/conftest.py", "pytest.ini", "setup.cfg", "tox.ini", "pyproject.toml"],
        ...["sitecustomize.py", "src/usercustomize.py", "evil.pth", "src/x.egg-info/entry_points.txt"],
        ...["pytest.py", "pytest/__init__.py", "_pytest/runner.py", "unittest/case.py"],
        ...[".venv/lib/python3.12/site-packages/pytest/__init__.py", "tests2/__pycache__/t.cpython-312.pyc"],
      ],
      ["src/x/pytest_like.py", "src/x/unittest.py", "setup.py", "docs/pyproject.toml"],
    ],
    ["unittest", ["unittest.py", "sitecustomize.py"], ["src/x.py"]],
    [
      "go-test",
      ["go.mod", "go.sum", "main_test.go", "a/b/testdata/in.txt", "vendor/x/x.go"],
      ["main.go", "a/go.mod"],
    ],
    ["cargo-test", ["Cargo.toml", "crates/a/Cargo.toml", "build.rs", ".cargo/config.toml"], ["src/lib.rs"]],
    ["reward", [], ["package.json", "conftest.py", "Cargo.toml"]],
  ])("of %s are left out of a change, and no source is", (format, steering, sources) => {
    expect(steering.filter((path) => !steersTests(path, [format]))).toEqual([]);
    expect(sources.filter((path) => steersTests(path, [format]))).toEqual([]);
  });

  it("are those of every runner where the report does not tell which one wrote it", () => {
    for (const path of ["package.json", "conftest.py", "go.mod", "Cargo.toml", "jest.config.js"])
      expect(steersTests(path, ["junit"])).toBe(true);
  });

  it("are the repository's own .git for every format; a nested one is files", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...REPORT_FORMATS),
        fc.constantFrom("config", "hooks/pre-commit", "x"),
        (format, name) => {
          expect(steersTests(`.git/${name}`, [format])).toBe(true);
          expect(steersTests(".git", [format])).toBe(true);
          expect(steersTests(`sub/.git/${name}`, [format])).toBe(false);
          expect(steersTests(`.github/${name}`, [format])).toBe(false);
        },
      ),
    );
  });
});

describe("a judged change", () => {
  it("keeps what the reference solution changes, too, unless it is a test", () => {
    const gold = [write("pyproject.toml"), write("tests/test_x.py"), write("src/x.py")];
    const judge = { environment: environmentOf("pytest"), task: taskOf({ gold }) };
    expect(kept(["pyproject.toml", "setup.cfg", "tests/test_x.py", "src/x.py"], judge)).toEqual([
      ...["pyproject.toml", "src/x.py"],
    ]);
  });

  it("loses what lies where the verifier puts its files, above and below, and where reports are written", () => {
    const verifier = verifierOf("reward", [
      write("/app/check/run.sh"),
      write("/tests/test.sh"),
      write("data.json"),
    ]);
    const environment = environmentOf("reward", "/app", "/app/out/reward.txt");
    const judge = { environment, task: taskOf({ verifier, hiddenFiles: [] }) };
    const paths = [
      "check",
      "check/run.sh",
      "check/run.sh/x",
      "check/other.sh",
      "data.json",
      "out/reward.txt",
      "run.sh",
    ];
    expect(kept(paths, judge)).toEqual(["check/other.sh", "run.sh"]);
  });
});

describe("a verifier's files", () => {
  it("are the tree's where they lie below the working folder, whatever the spelling", () => {
    const files = [
      write("/testbed/tests/a.py"),
      write("tests/b.py"),
      write("/tests/c.sh"),
      write("/testbed2/d"),
    ];
    const { inTree, outside } = splitFiles(files, environmentOf("pytest", "/testbed"));
    expect(inTree.map(({ path }) => path)).toEqual(["tests/a.py", "tests/b.py"]);
    expect(outside.map(({ path }) => path)).toEqual(["/tests/c.sh", "/testbed2/d"]);
  });
});

describe("a test run", () => {
  it("mounts the tests read-only at the working folder, unless a verifier brings its own", () => {
    const environment = environmentOf("pytest", "/testbed");
    expect(mountsOf(environment)).toEqual([
      { source: "/host/tools", target: "/tools" },
      { source: "/host/root/tests", target: "/testbed/tests" },
    ]);
    expect(mountsOf(environment, verifierOf("pytest"))).toEqual(environment.mounts);
  });

  it("runs the environment's commands, those of some scopes, or the verifier's", () => {
    const commands = ["a", "b"].map((scope) => ({ ...command("tap"), scope }));
    const environment = { ...environmentOf("tap"), commands };
    expect(commandsOf({ environment })).toEqual(commands);
    expect(commandsOf({ environment, files: ["b"] })).toEqual([commands[1]]);
    const verifier = verifierOf("reward");
    expect(commandsOf({ environment, files: ["b"], verifier })).toEqual(verifier.commands);
  });

  it("has the sizes its entry asks for, and a verifier's own time", () => {
    const entry = { limits: { memoryMb: 2048 } };
    const limits = { memoryMb: 2048, processes: 64, diskMb: 64 };
    expect(limitsOf({ cpuSeconds: 2, entry })).toEqual({ limits, cpuSeconds: 10, wallSeconds: 110 });
    expect(verifierLimits({ entry }, { timeoutSeconds: 300 })).toEqual({
      limits,
      cpuSeconds: 1200,
      wallSeconds: 300,
    });
  });
});

describe("evidence", () => {
  const verifier = verifierOf("pytest", [write("t.py", "assert x")]);
  const task = taskOf({ verifier });

  it("is another for any edit of the task, the tree or the verifier", () => {
    const key = evidenceKey(evidenceOf(task, "tree"));
    const edits: Task[] = [
      { ...task, base: [write("src/x.py", "bug ")] },
      { ...task, gold: [write("src/x.py", "fix ")] },
      { ...task, hiddenFiles: [] },
      { ...task, failToPass: ["a "] },
      { ...task, passToPass: [] },
      { ...task, environment: "x@1.0.0-0123456789ac" },
      { ...task, verifier: { ...verifier, files: [write("t.py", "assert y")] } },
      { ...task, verifier: { ...verifier, timeoutSeconds: 61 } },
      { ...task, verifier: { ...verifier, exact: {} } },
      taskOf(),
    ];
    const keys = edits.map((edited) => evidenceKey(evidenceOf(edited, "tree")));
    expect(new Set([key, ...keys, evidenceKey(evidenceOf(task, "other"))]).size).toBe(edits.length + 2);
  });

  it("is the same for the same task, however it was read", () => {
    expect(taskHash(JSON.parse(JSON.stringify(task)))).toBe(taskHash(task));
    expect(evidenceOf(taskOf(), "tree")).toMatchObject({
      tree: "tree",
      verifier: null,
      environment: task.environment,
    });
  });
});
