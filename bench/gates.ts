/**
 * The gates of synthesis against tasks of which it is known what they are: faulty ones, each to be stopped by one gate, and good ones, none to be
 * stopped. A drawn candidate is good when its change breaks a test and shows in a printed line; that is no merit of a gate, and is not counted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { random } from "../core/random.ts";
import type { GeneratorName } from "../core/task.ts";
import { type PreparedEnvironment, prepareEnvironment } from "../services/environments/index.ts";
import { createGrading, type GradingService } from "../services/grading/index.ts";
import { createProcessRuntime } from "../services/sandbox/index.ts";
import {
  type Benchmark,
  type Candidate,
  createSynthesis,
  type GateName,
  indexBenchmark,
  openBenchmark,
} from "../services/synthesis/index.ts";
import { AUTHORED, candidateOf } from "../tests/support/authored/index.ts";
import { BENCHMARK, CONTAMINATED, candidateOfFaulty, FAULTY, SEEDS } from "../tests/support/faulty/index.ts";
import { type BenchContext, type Measure, measure } from "./bench.ts";

const GOOD = 100;
const MAX_FALSE_ALARMS = 2;
/** Not those of which two files hold the same function: their mutations leave the answer in the tree, and are refused for it. */
const PACKAGES = ["camelize", "parse-headers", "text-table", "lineclip", "json-stable-stringify"];
const GENERATORS: readonly GeneratorName[] = ["mutation", "mutation", "combination", "removal"];
/** What a drawn candidate may be without any fault of the gates. */
const NO_TASK: ReadonlySet<GateName> = new Set(["build", "ends", "fail-to-pass", "reproduction"]);
const GATES = { maxFlakeRate: null, wrongSolutions: true, determined: true, decontaminate: [] };

export async function run({ defer, progress, quick }: BenchContext): Promise<readonly Measure[]> {
  const data = mkdtempSync(join(tmpdir(), "gates-"));
  defer(() => rmSync(data, { recursive: true, force: true }));
  const sandboxRuntime = createProcessRuntime({
    root: join(data, "sandboxes"),
    nodePath: process.execPath,
  });
  const grading = createGrading({ runtime: sandboxRuntime });
  defer(() => grading.close());
  const synthesis = createSynthesis({ grading, sandboxRuntime, mode: "warm" });
  const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
  const prepared = new Map<string, PreparedEnvironment>();
  const environmentOf = async (name: string): Promise<PreparedEnvironment> => {
    const known = prepared.get(name) ?? (await prepareEnvironment({ name, dataFolder: data, runTests }));
    prepared.set(name, known);
    return known;
  };
  /** The gate that stops it, and why; null = it becomes a task. */
  const stopped = async (
    environment: PreparedEnvironment,
    candidate: Candidate,
    benchmarks: readonly Benchmark[],
  ) => {
    const options = { stabilityRuns: 2, gates: GATES, benchmarks };
    const { gates } = await synthesis.validate(environment, candidate, options);
    return gates.find(({ passed }) => !passed) ?? null;
  };
  const benchmark = openBenchmark(await indexBenchmark("rows", BENCHMARK));

  let right = 0;
  const faulty = quick ? FAULTY.filter(({ slow }) => slow !== true) : FAULTY;
  for (const one of [...faulty, ...CONTAMINATED]) {
    const environment = await environmentOf(one.task.environment);
    const benchmarks = one.gate === "contamination" ? [benchmark] : [];
    const by = await stopped(environment, candidateOfFaulty(environment, one), benchmarks);
    if (by?.gate === one.gate) right++;
    progress(
      `${by?.gate === one.gate ? "stopped" : "WRONG  "} ${one.name}: ${by?.gate ?? "nothing"}, expected ${one.gate}`,
    );
  }

  let good = 0;
  let alarms = 0;
  const judge = async (
    name: string,
    environment: PreparedEnvironment,
    candidate: Candidate,
    drawn: boolean,
  ) => {
    const by = await stopped(environment, candidate, []);
    if (drawn && by !== null && NO_TASK.has(by.gate)) return;
    good++;
    if (by === null) return;
    alarms++;
    progress(`false alarm, ${name}: ${by.gate}: ${by.evidence}`);
  };
  const handMade = [...SEEDS, ...AUTHORED.filter(({ type }) => !quick || type !== "performance")];
  for (const one of handMade) {
    const environment = await environmentOf(one.environment);
    await judge(one.name, environment, candidateOf(environment, one), false);
  }
  const brief = { functions: "all", heldOutShare: 0 } as const;
  for (let n = 0; good < GOOD; n++) {
    const environment = await environmentOf(PACKAGES[n % PACKAGES.length]!);
    const generator = GENERATORS[n % GENERATORS.length]!;
    const candidate = await synthesis.generate(environment, generator, brief, random(1, "gates", n));
    if (!("none" in candidate)) await judge(`${generator} ${n}`, environment, candidate, true);
    if (good % 10 === 0) progress(`${good} good tasks, ${alarms} false alarms`);
  }
  return [
    measure({
      name: "faulty tasks stopped by the gate they should be",
      value: right,
      unit: "",
      reference: faulty.length + CONTAMINATED.length,
      better: "higher",
      goal: 1,
    }),
    measure({
      name: `false alarms on ${GOOD} good tasks, against ${MAX_FALSE_ALARMS}`,
      value: alarms,
      unit: "",
      reference: MAX_FALSE_ALARMS,
      better: "lower",
      goal: 1,
    }),
  ];
}
