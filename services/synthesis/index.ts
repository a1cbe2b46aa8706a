/** Public surface of task synthesis. */
import { createAuthor } from "../author/index.ts";
import { type GradingService, TEST_LIMITS } from "../grading/index.ts";
import type { SandboxRuntime } from "../sandbox/runtime.ts";
import { exerciseGenerator } from "./exercise.ts";
import { validateCandidate } from "./gates/index.ts";
import { hardened } from "./harden.ts";
import { historyGenerator } from "./history/index.ts";
import { combinationGenerator, mutationGenerator } from "./mutation.ts";
import { removalGenerator } from "./removal.ts";
import { Reproducer } from "./reproduce.ts";
import { rewriteTask } from "./rewrite.ts";
import { indexSites, type SiteIndex } from "./sites.ts";
import { mayChange } from "./split.ts";
import { touchedFunctions } from "./touched.ts";
import type { SynthesisService, TaskGenerator } from "./types.ts";

export { attributesOf } from "./attributes.ts";
export { candidateKey, taskId } from "./changes.ts";
export { type Benchmark, type BenchmarkFile, indexBenchmark, openBenchmark } from "./contamination.ts";
export { SKIPS, type Surveyed, survey } from "./history/index.ts";
export { findLeaks } from "./leaks.ts";
export { reachOf } from "./reach.ts";
export { functionKey, isHeldOut } from "./split.ts";
export { writeStatement } from "./statement.ts";
export * from "./types.ts";

export interface SynthesisParts {
  readonly grading: GradingService;
  readonly sandboxRuntime: SandboxRuntime;
  /** How validation runs tests; grading's two modes agree, warm is several times cheaper. */
  readonly mode: "cold" | "warm";
}

export function createSynthesis(parts: SynthesisParts): SynthesisService {
  const indexes = new Map<string, SiteIndex>();
  const indexOf: Parameters<typeof mutationGenerator>[0] = (environment) => {
    const known = indexes.get(environment.key) ?? indexSites(environment);
    indexes.set(environment.key, known);
    return known;
  };
  const author = createAuthor({
    runtime: parts.sandboxRuntime,
    functionsOf: (environment) =>
      indexOf(environment).functions.map(({ file, key, source }) => ({
        file,
        key,
        functionName: source.name,
        line: source.startLine,
      })),
    mayChange,
    touched: touchedFunctions,
  });
  const generators: Readonly<Partial<Record<TaskGenerator["name"], TaskGenerator>>> = {
    mutation: mutationGenerator(indexOf),
    combination: combinationGenerator(indexOf),
    removal: removalGenerator(indexOf),
    history: historyGenerator(),
    llm: author.generator,
    exercise: exerciseGenerator(),
  };
  const { grading, sandboxRuntime, mode } = parts;
  const reproducer = new Reproducer({ runtime: sandboxRuntime, limits: TEST_LIMITS });
  return {
    generate: async (environment, generator, brief, random) =>
      (await generators[generator]?.generate(environment, brief, random)) ?? {
        none: `no generator is called ${generator}`,
      },
    repair: author.repair,
    harden: async (environment, candidate, revises, brief, random) =>
      hardened(indexOf(environment), candidate, revises, brief, random),
    rewrite: rewriteTask,
    validate: (environment, candidate, options) =>
      validateCandidate({ grading, reproducer, mode }, environment, candidate, options),
  };
}
