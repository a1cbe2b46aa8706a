/** Tasks that bring their own verifiers, graded in both runtimes: solutions pass, doing nothing and every trick fail, and why is named. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, Task, Verdict } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { buildImage } from "../../services/formats/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import {
  changesBetween,
  createDockerRuntime,
  createProcessRuntime,
  ensureBaseImage,
  SandboxError,
  type SandboxImage,
  type SandboxRuntime,
  scanTree,
} from "../../services/sandbox/index.ts";
import {
  calculator,
  calculatorTask,
  calculatorTree,
  FIX,
  unittestCommand,
  verifierOf,
  write,
} from "../support/calculator.ts";
import { tinyEnvironment, tinyTask } from "../support/tiny-environment.ts";

const NEW = "test_add (tests.test_calc.New.test_add)";
const OLD = ["test_zero (tests.test_calc.Old.test_zero)"];

let data: string;
let imageId: string | undefined;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "verifier-"));
  calculatorTree(join(data, "root"));
}, 60_000);
afterAll(async () => {
  if (imageId !== undefined) await new Docker().getImage(imageId).remove({ force: true });
  rmSync(data, { recursive: true, force: true });
});

/** The tree at /testbed, with its repository, as images of tasks have it. */
async function makeImage(): Promise<SandboxImage> {
  const base = await ensureBaseImage();
  const root = join(data, "root");
  const files = changesBetween(new Map(), await scanTree(root), root);
  const dockerfile = write(
    "Dockerfile",
    `FROM ${base}\nCOPY . /testbed\nRUN rm /testbed/Dockerfile\nWORKDIR /testbed\n`,
  );
  imageId = await buildImage(new Docker(), { files: [...files, dockerfile], dockerfile: "Dockerfile" });
  return { reference: imageId, workdir: "/testbed" };
}

const create: Readonly<Record<SandboxRuntime["name"], () => SandboxRuntime>> = {
  process: () => createProcessRuntime({ root: join(data, "boxes"), nodePath: process.execPath }),
  docker: () => createDockerRuntime({ root: join(data, "docker boxes"), nodePath: process.execPath }),
};

describe.each(["process", "docker"] as const)("a verifier in the %s runtime", (name) => {
  let grading: GradingService;
  let environment: PreparedEnvironment;
  const script = (lines: string, path: string) => write(path, `${lines}\n`);

  beforeAll(async () => {
    const runtime = create[name]();
    grading = createGrading({ runtime });
    environment = calculator(join(data, "root"), name === "docker" ? await makeImage() : null);
  }, 300_000);
  afterAll(() => grading?.close());

  const byUnittest = (): Task => calculatorTask(verifierOf([unittestCommand]), [NEW], OLD);

  /** As Harbor's: a script that is no part of the tree writes the reward to a file elsewhere; in the tree where there is no elsewhere. */
  const byReward = (then = ""): Task => {
    const [place, logs] = name === "docker" ? ["/checks", "/logs/verifier"] : ["checks", "/tmp/verifier"];
    const run = script(
      `mkdir -p ${logs}\n${then}\nif python3 -m unittest tests.test_calc; then echo 1; else echo 0; fi > ${logs}/reward.txt`,
      `${place}/test.sh`,
    );
    const command = {
      scope: "",
      argv: ["bash", run.path],
      format: "reward",
      reportFile: `${logs}/reward.txt`,
    } as const;
    return calculatorTask(verifierOf([command], [run]), ["reward"], []);
  };

  const grade = (task: Task, change: readonly FileChange[]): Promise<Verdict> =>
    grading.grade({ environment, task, change, mode: "warm", reuse: false });

  it("passes the solution and fails doing nothing, cold whatever the mode says", async () => {
    const task = byUnittest();
    const solved = await grade(task, task.gold);
    expect(solved).toMatchObject({ outcome: "passed", rule: "all-passed" });
    expect(solved.statuses).toEqual({ [NEW]: "passed", [OLD[0]!]: "passed" });
    expect(solved.evidence.verifier).toMatch(/^[0-9a-f]{64}$/);
    const nothing = await grade(task, []);
    expect(nothing).toMatchObject({ outcome: "failed", rule: "fail-to-pass-failed", offending: [NEW] });
    expect(nothing.treeHash).not.toBe(solved.treeHash);
  });

  it("does not book on the agent that the reference's tree cannot be made", async () => {
    const runtime = create[name]();
    let made = 0;
    const refusing: SandboxRuntime = Object.assign(Object.create(runtime), {
      create: (...of: Parameters<SandboxRuntime["create"]>) =>
        ++made === 1 ? runtime.create(...of) : Promise.reject(new SandboxError("path", "too large")),
    });
    const task = byUnittest();
    const request = { environment, task, change: task.gold, mode: "cold", reuse: false } as const;
    expect(await createGrading({ runtime: refusing }).grade(request)).toMatchObject({
      outcome: "infrastructure",
      offending: ["boot: of what must fail: too large"],
    });
    expect(made).toBe(2);
  });

  it("reads a reward from a file, and needs one to be written", async () => {
    expect(await grade(byReward(), [write("calc.py", FIX)])).toMatchObject({
      outcome: "passed",
      statuses: { reward: "passed" },
    });
    expect(await grade(byReward(), [])).toMatchObject({ outcome: "failed", rule: "fail-to-pass-failed" });
    expect(await grade(byReward("exit 0"), [write("calc.py", FIX)])).toMatchObject({
      outcome: "failed",
      rule: "no-tests-parsed",
    });
  });

  it("asks for exactly the statuses of an exact map", async () => {
    const exact = { [NEW]: "passed", [OLD[0]!]: "passed" } as const;
    const task = (map: Verdict["statuses"]) => calculatorTask(verifierOf([unittestCommand], [], map), [], []);
    expect(await grade(task(exact), [write("calc.py", FIX)])).toMatchObject({ outcome: "passed" });
    expect(await grade(task({ ...exact, other: "passed" }), [write("calc.py", FIX)])).toMatchObject({
      outcome: "failed",
      rule: "statuses-differ",
      offending: ["other"],
    });
  });

  /** What the runner would print of two passes, from whoever knows the names; the real ones are hidden. */
  const report = [NEW, ...OLD].map((test) => `${test} ... ok\\n`).join("");
  const lies = `import sys\nsys.stderr.write("${report}\\n${"-".repeat(70)}\\nRan 2 tests in 0.001s\\n\\nOK\\n")\nsys.stderr.flush()\n`;
  const lieAndLeave = (code: number) => `${lies}import os\nos._exit(${code})\n`;
  const weakened = `import unittest\n\nclass New(unittest.TestCase):\n    def test_add(self): pass\n\nclass Old(unittest.TestCase):\n    def test_zero(self): pass\n`;
  it.each<[string, FileChange[]]>([
    ["weakening the tests", [write("tests/test_calc.py", weakened)]],
    ["deleting the tests", [{ kind: "delete", path: "tests/test_calc.py" }]],
    ["a link in the tests' place", [{ kind: "symlink", path: "tests", target: "/tmp" }]],
    ["a module in the test tool's place", [write("unittest.py", lieAndLeave(0))]],
    [
      "a package in its place",
      [write("unittest/__init__.py", ""), write("unittest/__main__.py", lieAndLeave(0))],
    ],
    ["code that Python runs at its start", [write("sitecustomize.py", lieAndLeave(0))]],
    ["ending at once with success", [write("calc.py", "import os\nos._exit(0)\n")]],
    ["a printed report and another end", [write("calc.py", lieAndLeave(3))]],
    [
      "an exit code of failure after real passes",
      [write("calc.py", `${FIX}\nimport atexit, os\natexit.register(os._exit, 3)\n`)],
    ],
  ])("is not passed by %s", async (_, change) => {
    expect(await grade(byUnittest(), change)).toMatchObject({ outcome: "failed" });
  });

  it.each<[string, () => Task, string]>([
    ["a whole printed report and an end with success", byUnittest, lieAndLeave(0)],
    [
      "a test tool that passes everything",
      byUnittest,
      "import unittest\nunittest.TestCase._callTestMethod = lambda self, method: None\n",
    ],
    ["an end that the script takes for success", byReward, "import os\nos._exit(0)\n"],
  ])("fails %s: its own tests, made to fail, must do so", async (_, task, code) => {
    const change = [write("calc.py", code)];
    expect(await grade(task(), change)).toMatchObject({ outcome: "failed", rule: "harness-tampered" });
  });

  it("fails a patched test tool by the canary where the environment's own command judges", async () => {
    const { verifier: _, ...task } = calculatorTask(verifierOf([]), OLD, []);
    const patch = "import unittest\nunittest.TestCase._callTestMethod = lambda self, method: None\n";
    const byCode = (code: string) => grade(task, [write("calc.py", code)]);
    expect(await byCode(FIX)).toMatchObject({ outcome: "passed" });
    expect(await byCode(patch + FIX)).toMatchObject({ outcome: "failed", rule: "harness-tampered" });
  });

  it("is not passed by a reward that was there before", async () => {
    const { verifier, ...task } = byReward("exit 0");
    const [command] = verifier!.commands;
    const inTree = { ...verifier!, commands: [{ ...command!, reportFile: "out/reward.txt" }] };
    const change = [write("out/reward.txt", "1")];
    expect(await grade({ ...task, verifier: inTree }, change)).toMatchObject({ rule: "no-tests-parsed" });
  });

  it("grades nothing of the repository's own .git, and a nested one as files", async () => {
    const task = byUnittest();
    const plain = await grade(task, task.gold);
    const own = [".git/config", ".git/hooks/pre-commit", ".git/info/attributes"].map((path) =>
      write(path, "x"),
    );
    expect((await grade(task, [...task.gold, ...own])).treeHash).toBe(plain.treeHash);
    const nested = await grade(task, [
      ...task.gold,
      write("vendored/.git/config", "[core]\n\tfsmonitor = touch /tmp/x\n"),
    ]);
    expect(nested.outcome).toBe("passed");
    expect(nested.treeHash).not.toBe(plain.treeHash);
  });

  it("keeps a change of a protected file only where the solution makes one, too", async () => {
    const task = byUnittest();
    const change = [...task.gold, write("pyproject.toml", "")];
    const { treeHash } = await grade(task, task.gold);
    expect((await grade(task, change)).treeHash).toBe(treeHash);
    expect((await grade({ ...task, gold: change }, change)).treeHash).not.toBe(treeHash);
  });

  it("fails what does not end, what eats the memory, and what does not fit, each by its name", async () => {
    expect(await grade(byUnittest(), [write("calc.py", "while True: pass\n")])).toMatchObject({
      ...{ outcome: "failed", rule: "timeout" },
    });
    const hungry = "held = []\nwhile True: held.append(bytearray(10_000_000))\n";
    expect(await grade(byUnittest(), [write("calc.py", hungry)])).toMatchObject({
      outcome: "failed",
      rule: "killed",
    });
    expect(await grade(byUnittest(), [write("calc.py/x", "")])).toMatchObject({
      ...{ outcome: "failed", rule: "patch-does-not-apply" },
    });
  }, 60_000);
});

describe("a verifier's file that has no place in the box", () => {
  it("is an infrastructure failure that names it", async () => {
    const grading = createGrading({ runtime: create.process() });
    const verifier = verifierOf([unittestCommand], [write("/checks/test.sh", "")]);
    const task = calculatorTask(verifier, [NEW], OLD);
    const environment = calculator(join(data, "root"), null);
    const verdict = await grading.grade({ environment, task, change: task.gold, mode: "cold", reuse: false });
    expect(verdict).toMatchObject({
      outcome: "infrastructure",
      offending: [expect.stringContaining("/checks/test.sh cannot be put there: EROFS")],
    });
    await grading.close();
  });
});

describe("re-use of verdicts", () => {
  it("is off where the environment has a test that changed from run to run", async () => {
    const grading = createGrading({ runtime: create.process() });
    const stable = tinyEnvironment(join(data, "tiny"));
    const modes = async (environment: PreparedEnvironment) => {
      const request = {
        environment,
        task: tinyTask,
        change: tinyTask.gold,
        mode: "cold",
        reuse: true,
      } as const;
      return [(await grading.grade(request)).mode, (await grading.grade(request)).mode];
    };
    expect(await modes(stable)).toEqual(["cold", "reused"]);
    const unstable = ["test/zero.js > zero > at times#1"];
    expect(await modes({ ...stable, key: "adder@1.0.0-111111111111", unstable })).toEqual(["cold", "cold"]);
    await grading.close();
  });
});

describe("one environment in both runtimes", () => {
  it("has the same statuses and the same tree", async () => {
    const environment = tinyEnvironment(join(data, "tiny"));
    const essence = async (runtime: SandboxRuntime, change: readonly FileChange[]) => {
      const grading = createGrading({ runtime });
      try {
        const request = { environment, task: tinyTask, change, mode: "cold", reuse: false } as const;
        const { outcome, rule, offending, statuses, treeHash } = await grading.grade(request);
        return { outcome, rule, offending, statuses, treeHash };
      } finally {
        await grading.close();
      }
    };
    for (const change of [tinyTask.gold, [], [write("index.js", "module.exports = () => 0;")]])
      expect(await essence(create.docker(), change)).toEqual(await essence(create.process(), change));
    expect(await essence(create.docker(), tinyTask.gold)).toMatchObject({ outcome: "passed" });
    expect(readFileSync(join(environment.root, "index.js"), "utf8")).toContain("a + b");
  }, 120_000);
});
