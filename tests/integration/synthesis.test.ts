/** Synthesis on a real package: real sandboxes, real test runs, real reproductions. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { composeChanges } from "../../core/changes.ts";
import { random } from "../../core/random.ts";
import type { FileChange, GeneratorName, Task } from "../../core/task.ts";
import {
  modulesMount,
  type PreparedEnvironment,
  prepareEnvironment,
} from "../../services/environments/index.ts";
import { createGrading, type GradingService, TEST_LIMITS } from "../../services/grading/index.ts";
import { createProcessRuntime, type SandboxRuntime } from "../../services/sandbox/index.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import {
  type Candidate,
  createSynthesis,
  type SynthesisService,
  writeStatement,
} from "../../services/synthesis/index.ts";
import { narrowed } from "../support/narrowed.ts";

const OPTIONS = { stabilityRuns: 3 };
let data: string;
let runtime: SandboxRuntime;
let grading: GradingService;
let synthesis: SynthesisService;
let environment: PreparedEnvironment;
let source: string;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "synthesis-"));
  runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  const whole = await prepareEnvironment({ name: "minimist", dataFolder: data, runTests });
  // Four of its test files are enough for every gate.
  const tests = ["test/dotted.js", "test/num.js", "test/parse.js", "test/short.js"];
  environment = { ...narrowed(whole, tests), cpuSeconds: whole.cpuSeconds / 4 };
  source = readFileSync(join(environment.root, "index.js"), "utf8");
}, 180_000);
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

async function draw(generator: GeneratorName, seed: number): Promise<Candidate> {
  const brief = { functions: "all", heldOutShare: 0.3 } as const;
  const candidate = await synthesis.generate(environment, generator, brief, random(seed, generator));
  if ("none" in candidate) throw new Error(candidate.none);
  return candidate;
}

/** The first valid task of the seeds from 0 on. */
async function firstTask(generator: GeneratorName): Promise<{ task: Task; candidate: Candidate }> {
  for (let seed = 0; seed < 40; seed++) {
    const candidate = await draw(generator, seed);
    const { task } = await synthesis.validate(environment, candidate, OPTIONS);
    if (task !== null) return { task, candidate };
  }
  throw new Error(`no valid ${generator} task in 40 candidates`);
}

/** A hand-made mutation: `from` becomes `to` in index.js. */
function handMade(from: string, to: string): Candidate {
  expect(source.split(from)).toHaveLength(2);
  return {
    type: "bug",
    generator: "mutation",
    base: [
      writeText(
        "index.js",
        source.replace(from, () => to),
      ),
    ],
    gold: [writeText("index.js", source)],
    sites: [{ file: "index.js", functionName: "isNumber", line: 12, operator: "constant" }],
    functions: ["minimist#index.js#isNumber"],
  };
}

async function print(task: Task, tree: readonly FileChange[]): Promise<string> {
  const identity = {
    experiment: "test",
    slot: "print",
    attempt: 1,
    fence: "f",
    deadline: Date.now() + 60_000,
  };
  const mounts = [modulesMount(environment)];
  const hidden = task.hiddenFiles.map((path): FileChange => ({ kind: "delete", path }));
  const overlay = composeChanges(tree, hidden);
  const sandbox = await runtime.create(
    { root: environment.root, overlay, mounts, limits: TEST_LIMITS, env: {} },
    identity,
  );
  try {
    const exec = { timeoutSeconds: 60, outputBytes: 10_000 };
    const result = await sandbox.exec(["bash", "-lc", task.facts.reproduction!.command], exec);
    return Buffer.from(result.stdout).toString("utf8");
  } finally {
    await sandbox.destroy();
  }
}

describe.each(["mutation", "combination", "removal"] as const)("a %s task", (generator) => {
  it("has tests to fix, the same by cold and warm runs, and a reproduction that prints on either tree what it says", async () => {
    const { task, candidate } = await firstTask(generator);
    const { actual, expected, command, assertion } = task.facts.reproduction!;
    expect(await print(task, task.base)).toBe(`${actual}\n`);
    expect(await print(task, composeChanges(task.base, task.gold))).toBe(`${expected}\n`);
    expect(actual).not.toBe(expected);
    expect(task.failToPass).toContain(assertion);
    expect(task.hiddenFiles).toContain(assertion.split(" > ")[0]);
    expect(writeStatement(task, 1).text).toContain(command);
    const gold = { environment, task, change: task.gold, mode: "cold", reuse: false } as const;
    expect((await grading.grade(gold)).outcome).toBe("passed");
    expect((await grading.grade({ ...gold, change: [] })).outcome).toBe("failed");
    const cold = createSynthesis({ grading, sandboxRuntime: runtime, mode: "cold" });
    expect((await cold.validate(environment, candidate, OPTIONS)).task).toEqual(task);
  }, 180_000);
});

describe("a combination", () => {
  it("is no task when one of its changes alone breaks nothing", async () => {
    const broken = handMade("/^0x[0-9a-f]+$/i", "/^0b[0-9a-f]+$/i");
    const harmless = handMade("'use strict';", "'use strict'; ");
    const both = source
      .replace("/^0x[0-9a-f]+$/i", () => "/^0b[0-9a-f]+$/i")
      .replace("'use strict';", "'use strict'; ");
    const candidate: Candidate = {
      ...broken,
      generator: "combination",
      base: [writeText("index.js", both)],
      parts: [broken.base, harmless.base],
    };
    const { task, gates } = await synthesis.validate(environment, candidate, OPTIONS);
    expect(task).toBeNull();
    expect(gates.at(-1)).toMatchObject({ gate: "fail-to-pass", passed: false });
    expect(gates.at(-1)!.evidence).toContain("change 2 alone");
  }, 60_000);
});

describe("the gates", () => {
  it.each([
    ["build", "does not parse", "/^0x[0-9a-f]+$/i", "/^0x[0-9a-f]+$/i)"],
    ["build", "does not load", "'use strict';", "'use strict'; require('./absent');"],
    ["ends", "do not end", "'use strict';", "'use strict'; for (;;) {}"],
    ["fail-to-pass", "still passes", "'use strict';", "'use strict'; "],
  ] as const)(
    "%s: refuse a package that %s",
    async (gate, evidence, from, to) => {
      const { task, gates } = await synthesis.validate(environment, handMade(from, to), OPTIONS);
      expect(task).toBeNull();
      expect(gates.at(-1)).toMatchObject({ gate, passed: false });
      expect(gates.at(-1)!.evidence).toContain(evidence);
    },
    120_000,
  );

  it("refuse a mutation whose original stands in another file of the tree", async () => {
    const candidate = handMade("/^0x[0-9a-f]+$/i", "/^0b[0-9a-f]+$/i");
    const copy = mkdtempSync(join(tmpdir(), "synthesis-copy-"));
    execFileSync("cp", ["-r", `${environment.root}/.`, copy]);
    execFileSync("cp", [join(copy, "index.js"), join(copy, "example", "old.js")]);
    const { gates } = await synthesis.validate({ ...environment, root: copy }, candidate, OPTIONS);
    rmSync(copy, { recursive: true });
    expect(gates.at(-1)).toMatchObject({ gate: "leak", passed: false });
    expect(gates.at(-1)!.evidence).toContain("example/old.js");
  });

  it("record every gate, in order, of a task that passes them all", async () => {
    const candidate = handMade("/^0x[0-9a-f]+$/i", "/^0b[0-9a-f]+$/i");
    const { task, gates } = await synthesis.validate(environment, candidate, OPTIONS);
    expect(task).not.toBeNull();
    expect(gates.every((gate) => gate.passed && gate.evidence !== "")).toBe(true);
    expect(gates.map((gate) => gate.gate)).toEqual([
      "build",
      "ends",
      "fail-to-pass",
      "no-op",
      "gold",
      "stability",
      "reproduction",
      "leak",
    ]);
  }, 60_000);
});

describe("the recorder", () => {
  const recorder = fileURLToPath(new URL("../../services/synthesis/recorder.cjs", import.meta.url));
  const run = (file: string, settings?: string) => {
    const preload = settings === undefined ? [] : ["--require", recorder];
    const env = { PATH: process.env.PATH, NODE_PATH: environment.modules, TADPOLE_RECORD: settings };
    const cwd = environment.root;
    return execFileSync(process.execPath, [...preload, file], { cwd, env }).toString();
  };

  it("leaves the report of every test file as it is, also when its own hooks fail", () => {
    const settings = {
      root: environment.root,
      tests: environment.entry.tests,
      out: join(data, "notes.jsonl"),
    };
    for (const file of environment.entry.tests) {
      const plain = run(file);
      expect(run(file, JSON.stringify(settings))).toBe(plain);
      expect(readFileSync(settings.out, "utf8").trim().split("\n").length).toBe(
        plain.match(/^(not )?ok /gm)!.length,
      );
      expect(run(file, "no JSON")).toBe(plain);
      expect(run(file, JSON.stringify({ ...settings, out: "/no/such/folder" }))).toBe(plain);
    }
  });
});
