/** Faulty tasks in real boxes: each is stopped by the gate it should be, two of each gate here; `npm run bench -- gates` tries them all. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PreparedEnvironment, prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import {
  type Benchmark,
  type Candidate,
  createSynthesis,
  indexBenchmark,
  openBenchmark,
  type SynthesisService,
} from "../../services/synthesis/index.ts";
import { candidateOf } from "../support/authored/index.ts";
import {
  BENCHMARK,
  CONTAMINATED,
  candidateOfFaulty,
  FAULTY,
  type Faulty,
  SEEDS,
} from "../support/faulty/index.ts";

const PER_GATE = 2;
const gates = { maxFlakeRate: null, wrongSolutions: true, determined: true, decontaminate: [] };
let data: string;
let grading: GradingService;
let synthesis: SynthesisService;
const environments = new Map<string, PreparedEnvironment>();

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "faulty-"));
  const runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  for (const name of new Set(SEEDS.map(({ environment }) => environment)))
    environments.set(name, await prepareEnvironment({ name, dataFolder: data, runTests }));
}, 180_000);
afterAll(async () => {
  await grading?.close();
  rmSync(data, { recursive: true, force: true });
});

async function judge(
  name: string,
  made: (environment: PreparedEnvironment) => Candidate,
  benchmarks: readonly Benchmark[] = [],
) {
  const environment = environments.get(name)!;
  const options = { stabilityRuns: 2, gates, benchmarks };
  const { task, gates: verdicts } = await synthesis.validate(environment, made(environment), options);
  const refused = verdicts.find(({ passed }) => !passed);
  return { task, gate: refused?.gate ?? "none", evidence: refused?.evidence };
}

const few = FAULTY.filter(({ slow }) => slow !== true).filter(
  ({ gate }, index, all) => all.slice(0, index).filter((other) => other.gate === gate).length < PER_GATE,
);

describe("the set of faulty tasks", () => {
  it("has at least 60, each with a name of its own", () => {
    const names = [...FAULTY, ...CONTAMINATED].map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(60);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(few.map((faulty) => [faulty.gate, faulty.wrong, faulty] as const))(
    "%s stops it: %s",
    async (gate, _, faulty) => {
      expect(await judge(faulty.task.environment, (on) => candidateOfFaulty(on, faulty))).toMatchObject({
        ...{ task: null, gate },
      });
    },
    120_000,
  );

  it("contamination stops what a benchmark holds, by its text, its tests, its solution or the package's tests", async () => {
    const benchmark = openBenchmark(await indexBenchmark("rows.jsonl", BENCHMARK));
    const stopped = async (faulty: Faulty) =>
      (await judge(faulty.task.environment, (on) => candidateOfFaulty(on, faulty), [benchmark])).gate;
    for (const faulty of CONTAMINATED)
      expect([faulty.name, await stopped(faulty)]).toEqual([faulty.name, faulty.gate]);
  }, 120_000);
});

describe("what they are made from", () => {
  it.each(SEEDS.map((seed) => [seed.name, seed] as const))(
    "%s is a task",
    async (_, seed) => {
      const { gate, evidence, task } = await judge(seed.environment, (on) => candidateOf(on, seed));
      expect([gate, evidence]).toEqual(["none", undefined]);
      // The titles of the others name all that their tests need.
      expect(task!.facts.neededLevel ?? 0).toBe(["feature", "refactor"].includes(seed.type) ? 1 : 0);
    },
    120_000,
  );
});
