/** Public surface of task synthesis. */
import { type GradingService, TEST_LIMITS } from "../grading/index.ts";
import type { SandboxRuntime } from "../sandbox/runtime.ts";
import { validateCandidate } from "./gates/index.ts";
import { combinationGenerator, mutationGenerator } from "./mutation.ts";
import { removalGenerator } from "./removal.ts";
import { Reproducer } from "./reproduce.ts";
import { indexSites, type SiteIndex } from "./sites.ts";
import type { SynthesisService, TaskGenerator } from "./types.ts";

export { candidateKey, taskId } from "./changes.ts";
export { findLeaks } from "./leaks.ts";
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
  const generators: Readonly<Partial<Record<TaskGenerator["name"], TaskGenerator>>> = {
    mutation: mutationGenerator(indexOf),
    combination: combinationGenerator(indexOf),
    removal: removalGenerator(indexOf),
  };
  const { grading, sandboxRuntime, mode } = parts;
  const reproducer = new Reproducer({ runtime: sandboxRuntime, limits: TEST_LIMITS });
  return {
    generate: async (environment, generator, brief, random) =>
      (await generators[generator]?.generate(environment, brief, random)) ?? {
        none: `no generator is called ${generator}`,
      },
    repair: async () => ({ none: "no author writes tasks" }),
    validate: (environment, candidate, options) =>
      validateCandidate({ grading, reproducer, mode }, environment, candidate, options),
  };
}
