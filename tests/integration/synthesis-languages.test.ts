/** Synthesis in each language beside JavaScript: real packages of the catalogue, from a drawn candidate to graded verdicts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import type { GeneratorName, Task } from "../../core/task.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { languageOf } from "../../services/languages/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import {
  createSynthesis,
  findLeaks,
  type SynthesisService,
  writeStatement,
} from "../../services/synthesis/index.ts";

let data: string;
let grading: GradingService;
let synthesis: SynthesisService;

beforeAll(() => {
  data = mkdtempSync(join(tmpdir(), "synthesis-languages-"));
  const sandboxRuntime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime: sandboxRuntime });
  synthesis = createSynthesis({ grading, sandboxRuntime, mode: "cold" });
});
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

/** The first valid task of the seeds from `first` on. */
async function firstTask(
  environment: PreparedEnvironment,
  generator: GeneratorName,
  first: number,
): Promise<Task> {
  const brief = { functions: "all", heldOutShare: 0.3 } as const;
  const refused: string[] = [];
  for (let seed = first; seed < first + 20; seed++) {
    const candidate = await synthesis.generate(environment, generator, brief, random(seed, generator));
    if ("none" in candidate) throw new Error(candidate.none);
    const { task, gates } = await synthesis.validate(environment, candidate, { stabilityRuns: 1 });
    if (task !== null) return task;
    refused.push(`${seed}: ${gates.at(-1)!.gate}: ${gates.at(-1)!.evidence}`);
  }
  throw new Error(`no valid ${generator} task: ${refused.join("\n")}`);
}

/** A package, its language and framework, and seeds of a valid mutation and a valid combination. */
describe.each([
  ["pytimeparse", "python", "unittest", 0, 0],
  ["smetrics", "go", "go-test", 2, 0],
  ["css-what", "typescript", "vitest", 0, 1],
] as const)("%s", (name, language, framework, mutation, combination) => {
  it.each([
    ["mutation", 1, mutation],
    ["combination", 2, combination],
  ] as const)(
    `gives a %s in ${language} that its hidden tests judge`,
    async (generator, sites, seed) => {
      const runTests = (request: Parameters<GradingService["runTests"]>[0]) =>
        grading.runTests(request, "cold");
      const environment = await prepareEnvironment({ name, dataFolder: data, runTests, repeats: 1 });
      const task = await firstTask(environment, generator, seed);
      expect(environment.entry.framework).toBe(framework);
      expect(task.facts.sites).toHaveLength(sites);
      for (const { file, operator } of task.facts.sites) {
        expect(languageOf(file)!.name).toBe(language);
        expect(languageOf(file)!.operators).toContain(operator);
      }
      const grade = { environment, task, mode: "cold", reuse: false } as const;
      expect((await grading.grade({ ...grade, change: task.gold })).outcome).toBe("passed");
      expect((await grading.grade({ ...grade, change: [] })).outcome).toBe("failed");
      expect(task.hiddenFiles.length).toBeGreaterThan(0);
      for (const level of [0, 1, 2, 3] as const)
        expect(findLeaks(task, writeStatement(task, level), environment.root)).toEqual([]);
      const { reproduction } = task.facts;
      if (language !== "python") expect(reproduction).toBeNull();
      else {
        expect(reproduction!.command).toMatch(/^python3 -c 'from pytimeparse/);
        expect(task.failToPass).toContain(reproduction!.assertion);
        expect(reproduction!.actual).not.toBe(reproduction!.expected);
      }
    },
    400_000,
  );
});
