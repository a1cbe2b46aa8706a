/** synthesise: draws candidates of a range of indices, each from its own random stream. */
import { random } from "../core/random.ts";
import type { GeneratorName } from "../core/task.ts";
import { putJson } from "../services/store/index.ts";
import { candidateKey } from "../services/synthesis/index.ts";
import { heartbeating } from "./context.ts";
import type { SandboxServices } from "./services.ts";
import type { CandidateRef, SynthesiseInput, SynthesiseOutput } from "./types.ts";

export async function synthesise(
  services: SandboxServices,
  input: SynthesiseInput,
): Promise<SynthesiseOutput> {
  return heartbeating(async ({ signal }) => {
    const candidates: CandidateRef[] = [];
    const empty: { index: number; reason: string }[] = [];
    for (let index = input.from; index < input.from + input.count; index++) {
      signal.throwIfAborted();
      const stream = random(input.seed, ...input.randomKeys, index);
      const chosen =
        input.choice === "round-robin"
          ? input.environments[index % input.environments.length]!
          : stream.pick(input.environments);
      const names = Object.keys(input.mix).sort() as GeneratorName[];
      const generator = names[stream.weighted(names.map((name) => input.mix[name]))]!;
      const environment = await services.environments.byKey(chosen.key);
      const brief = { functions: input.functions, heldOutShare: input.heldOutShare };
      const candidate = services.synthesis.generate(environment, generator, brief, stream);
      if ("none" in candidate) {
        empty.push({ index, reason: candidate.none });
        continue;
      }
      candidates.push({
        index,
        environment: chosen,
        generator,
        key: candidateKey(candidate),
        functions: candidate.functions,
        artifact: await putJson(services.artifacts, candidate, "task"),
      });
    }
    return { candidates, empty };
  });
}
