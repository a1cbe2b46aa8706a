/** Grading on a real package: cold and warm, good and bad changes, and changes that attack the grader. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import type { FileChange, Task } from "../../core/task.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import {
  createGrading,
  type GradingService,
  limitsOf,
  type TestRunRequest,
  type TestRunResult,
} from "../../services/grading/index.ts";
import { applyEdit, enumerateEdits } from "../../services/javascript/index.ts";
import { createProcessRuntime, SandboxError, type SandboxRuntime } from "../../services/sandbox/index.ts";
import { narrowed } from "../support/narrowed.ts";

const SOURCE = "parse.js";
const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

let data: string;
let runtime: SandboxRuntime;
let grading: GradingService;
let environment: PreparedEnvironment;
let original: string;
/** The package with one mistake, and the change that mends it. */
let task: Task;
let broken: string;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "grading-"));
  runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  const runTests = (request: TestRunRequest) => grading.runTests(request, "cold");
  const whole = await prepareEnvironment({ name: "shell-quote", dataFolder: data, runTests, repeats: 1 });
  // Two of its test files are enough for every rule.
  environment = narrowed(whole, ["test/op.js", "test/parse.js"]);
  original = readFileSync(join(environment.root, SOURCE), "utf8");
  task = await breakIt();
}, 180_000);
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

const run = (overlay: readonly FileChange[], mode: "cold" | "warm") =>
  grading.runTests({ environment, overlay, ...limitsOf(environment) }, mode);

/** The first edit that fails some tests and leaves all of them running. */
async function breakIt(): Promise<Task> {
  for (const edit of enumerateEdits(original)) {
    broken = applyEdit(original, edit);
    const base = [write(SOURCE, broken)];
    const { report } = await run(base, "warm");
    const names = Object.keys(environment.baseline);
    const failToPass = names.filter((name) => report.statuses[name] !== "passed");
    if (!report.complete || failToPass.length === 0 || failToPass.length > 5) continue;
    return {
      ...{ id: "t0123456789abcdef", environment: environment.key, type: "bug", generator: "mutation" },
      ...{ base, gold: [write(SOURCE, original)], hiddenFiles: environment.entry.tests, functions: [] },
      ...{ failToPass, passToPass: names.filter((name) => !failToPass.includes(name)) },
      facts: { sites: [], reproduction: null },
    };
  }
  throw new Error("no edit of the source fails a test");
}

const grade = (change: readonly FileChange[], mode: "cold" | "warm", reuse = false) =>
  grading.grade({ environment, task, change, mode, reuse });

describe.each(["cold", "warm"] as const)("%s grading", (mode) => {
  it("passes the gold change and fails none at all", async () => {
    expect(await grade(task.gold, mode)).toMatchObject({ outcome: "passed", rule: "all-passed", mode });
    expect(await grade([], mode)).toMatchObject({
      outcome: "failed",
      rule: "fail-to-pass-failed",
      offending: task.failToPass,
      log: expect.stringMatching(/=== test\/[\s\S]*\nnot ok /),
    });
  });

  it("fails a change that mends one thing and breaks another", async () => {
    const worse = original.replace(
      "module.exports = function parse",
      "module.exports = function (s) { return [s]; }; function parse",
    );
    expect(worse).not.toBe(original);
    const verdict = await grade([write(SOURCE, worse)], mode);
    expect(verdict.outcome).toBe("failed");
  });

  it("fails a syntax error without a parsed test of the files that need it", async () => {
    const verdict = await grade([write(SOURCE, "module.exports = (;")], mode);
    expect(verdict.outcome).toBe("failed");
  });

  it("names the rule of a run that does not end, and goes on afterwards", async () => {
    expect(await grade([write(SOURCE, "for (;;);")], mode)).toMatchObject({
      outcome: "failed",
      rule: "timeout",
    });
    const hungry = "const held = []; for (;;) held.push(Buffer.alloc(1e7, 1));";
    expect(await grade([write(SOURCE, hungry)], mode)).toMatchObject({ outcome: "failed", rule: "killed" });
    expect(await grade(task.gold, mode)).toMatchObject({ outcome: "passed" });
  });

  it("leaves nothing of one run to the next", async () => {
    const marks = [
      "Object.prototype.mark = 1; Array.prototype.map = () => []; globalThis.mark = 1;",
      "require('fs').readFileSync = () => ''; require('assert').ok = () => {}; process.exitCode = 3;",
      "JSON.parse = () => 0; Error.prepareStackTrace = () => 'x'; delete globalThis.setTimeout;",
      "process.env.MARK = '1'; process.on('exit', () => { process.exitCode = 9; }); process.chdir('/');",
      "require('fs').writeFileSync('/repo/mark.js', '1'); require('fs').writeFileSync('/tmp/mark', '1');",
      "require('fs').unlinkSync('/repo/quote.js');",
      "setInterval(() => {}, 10).unref(); console.log = () => {}; process.stdout.write = () => true;",
      "Object.freeze(Array.prototype); String.prototype.match.mark = 1; Symbol.for('mark');",
      "require('/repo/node_modules/tape').Test.prototype.equal = function () {}; Object.assign(require.cache, { x: 1 });",
    ];
    for (const mark of marks) {
      await grade([write(SOURCE, `${mark}\n${broken}`)], mode);
      expect({ mark, ...(await grade(task.gold, mode)) }).toMatchObject({ mark, outcome: "passed" });
      expect({ mark, ...(await grade([], mode)) }).toMatchObject({ mark, offending: task.failToPass });
    }
  });

  /** All a change can know: the names of tests that are not hidden. */
  const fakeReport = () =>
    `TAP version 13\n${task.passToPass
      .map((name, index) => {
        const [, test, assertion] = name.split(" > ");
        return `# ${test}\nok ${index + 1} ${assertion!.replace(/#\d+$/, "")}`;
      })
      .join("\n")}\n1..${task.passToPass.length}\n`;

  it.each<[string, () => FileChange[]]>([
    ["deleting the tests", () => environment.entry.tests.map((path) => ({ kind: "delete", path }))],
    ["emptying the tests", () => environment.entry.tests.map((path) => write(path, ""))],
    [
      "skipping the tests",
      () => environment.entry.tests.map((path) => write(path, "require('tape').skip('x');")),
    ],
    ["replacing the tests' folder by a file", () => [write("test", "x")]],
    ["replacing the tests' folder by a link", () => [{ kind: "symlink", path: "test", target: "/tmp" }]],
    ["replacing the test tool", () => [write("node_modules/tape/index.js", "module.exports = () => {};")]],
    ["linking the modules elsewhere", () => [{ kind: "symlink", path: "node_modules", target: "/tmp" }]],
    ["another entry in package.json", () => [write("package.json", '{"main": "x.js", "type": "module"}')]],
    [
      "a link to a test in the source's place",
      () => [{ kind: "symlink", path: SOURCE, target: "test/parse.js" }],
    ],
    [
      "a link out of the tree in the source's place",
      () => [{ kind: "symlink", path: SOURCE, target: "/dev/null" }],
    ],
    ["ending at once with success", () => [write(SOURCE, "process.exit(0);")]],
    [
      "ending later with success",
      () => [write(SOURCE, `process.on('exit', () => process.exit(0));\n${broken}`)],
    ],
    ["an exit code of success", () => [write(SOURCE, `process.exit = () => {};\n${broken}`)]],
    [
      "a printed report",
      () => [write(SOURCE, `console.log(${JSON.stringify(fakeReport())}); process.exit(0);`)],
    ],
    [
      "a printed report, tests running too",
      () => [write(SOURCE, `console.log(${JSON.stringify(fakeReport())});\n${broken}`)],
    ],
    ["printed results between the real ones", () => [write(SOURCE, `console.log("ok 1 x");\n${broken}`)]],
    [
      "rewriting the tests while they run",
      () => [write(SOURCE, `require('fs').rmSync('/repo/test', { recursive: true });\n${broken}`)],
    ],
    [
      "a process that waits",
      () => [
        write(
          SOURCE,
          `require('child_process').spawn('sleep', ['1000'], { detached: true }).unref();\n${broken}`,
        ),
      ],
    ],
    [
      "forks",
      () => [
        write(SOURCE, "for (let i = 0; i < 200; i++) require('child_process').spawn('sleep', ['100']);"),
      ],
    ],
  ])("is not passed by %s", async (_, change) => {
    const verdict = await grade(change(), mode);
    expect(verdict.outcome).toBe("failed");
    expect(await grade(task.gold, mode)).toMatchObject({ outcome: "passed" });
  });

  it("ends with the caller's signal", async () => {
    const controller = new AbortController();
    const request = { environment, task, change: [write(SOURCE, "for (;;);")], mode, reuse: false };
    const running = grading.grade({ ...request, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("called off")), 200);
    await expect(running).rejects.toThrow("called off");
    expect(await grade(task.gold, mode)).toMatchObject({ outcome: "passed" });
  });
});

describe("grading", () => {
  it("applies a change that does not fit as a failure with that reason", async () => {
    expect(await grade([write("../x", "")], "cold")).toMatchObject({
      outcome: "failed",
      rule: "patch-does-not-apply",
    });
    expect(await grade([write(`${SOURCE}/x`, "")], "cold")).toMatchObject({ rule: "patch-does-not-apply" });
    expect(await grade([write(`${SOURCE}/x`, "")], "warm")).toMatchObject({ rule: "patch-does-not-apply" });
  });

  it("re-uses a verdict of the same tree, whatever way led there", async () => {
    const fresh = createGrading({ runtime });
    const request = { environment, task, mode: "cold" as const, reuse: true };
    try {
      const first = await fresh.grade({ ...request, change: task.gold });
      expect(first.mode).toBe("cold");
      const ignored = write("test/parse.js", "ignored");
      const second = await fresh.grade({ ...request, change: [...task.gold, ignored] });
      const { log: _, ...kept } = first;
      expect(second).toEqual({ ...kept, mode: "reused" });
      expect((await fresh.grade({ ...request, change: task.gold, reuse: false })).mode).toBe("cold");
      expect((await fresh.grade({ ...request, change: [] })).mode).toBe("cold");
    } finally {
      await fresh.close();
    }
  });

  it("gives an infrastructure outcome, never kept, when the sandbox is lost", async () => {
    let lost = true;
    const unlucky: SandboxRuntime = {
      removeSlot: (slot, keep) => runtime.removeSlot(slot, keep),
      ...{
        name: "process",
        unavailable: async () => null,
        adopt: async () => undefined,
        reap: async () => 0,
        list: async () => [],
      },
      create: (spec, identity) => {
        if (lost) throw new SandboxError("lost", "the host went away");
        return runtime.create(spec, identity);
      },
    };
    const fresh = createGrading({ runtime: unlucky });
    const request = { environment, task, change: task.gold, mode: "cold" as const, reuse: true };
    expect(await fresh.grade(request)).toMatchObject({ outcome: "infrastructure", rule: "infrastructure" });
    lost = false;
    expect(await fresh.grade(request)).toMatchObject({ outcome: "passed", mode: "cold" });
    await fresh.close();
  });

  it("gives the same result cold and warm, on every tree", async () => {
    const essence = ({ report, exitCodes, ended, stoppedBy, treeHash }: TestRunResult) => ({
      statuses: report.statuses,
      complete: report.complete,
      ...{ exitCodes, ended, stoppedBy, treeHash },
    });
    const edits = enumerateEdits(original);
    const pick = random(7, "grading", "agreement");
    for (let tree = 0; tree < 12; tree++) {
      const edit = edits[pick.integer(edits.length)]!;
      const overlay = [write(SOURCE, applyEdit(original, edit))];
      const cold = await run(overlay, "cold");
      const warm = await run(overlay, "warm");
      expect({ edit, ...essence(warm) }).toEqual({ edit, ...essence(cold) });
    }
  }, 180_000);

  it("leaves no sandbox behind when it is closed", async () => {
    const fresh = createGrading({
      runtime: createProcessRuntime({ root: join(data, "own"), nodePath: process.execPath }),
    });
    await fresh.runTests({ environment, overlay: [], ...limitsOf(environment) }, "warm");
    await fresh.runTests({ environment, overlay: [], ...limitsOf(environment) }, "cold");
    await fresh.close();
    expect(readdirSync(join(data, "own")).filter((name) => !name.startsWith("."))).toEqual([]);
  });
});
