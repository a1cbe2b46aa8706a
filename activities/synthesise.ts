/** synthesise: draws candidates of a range of indices, each from its own random stream. */
import { shortKey } from "../core/candidates.ts";
import { random } from "../core/random.ts";
import type { GeneratorName } from "../core/task.ts";
import { getJson, hashJson, isWhole } from "../services/store/index.ts";
import { attributesOf, type FailureNote } from "../services/synthesis/index.ts";
import { briefOf, failuresFor } from "./author.ts";
import { keepCandidate } from "./candidates.ts";
import { heartbeating } from "./context.ts";
import { importedCandidate, importedTasks } from "./imported.ts";
import { pieceOf } from "./pieces.ts";
import { ofCandidate, timed } from "./sandbox-time.ts";
import type { SandboxServices } from "./services.ts";
import { sideBySide } from "./side-by-side.ts";
import type { CandidateRef, SynthesiseInput, SynthesiseOutput } from "./types.ts";

/** One draw: a candidate, or why there is none at that index. */
type Draw =
  | { readonly index: number; readonly candidate: CandidateRef }
  | { readonly index: number; readonly none: string };

export async function synthesise(
  services: SandboxServices,
  input: SynthesiseInput,
): Promise<SynthesiseOutput> {
  const { scope, reuse, exclude, from, count, ...source } = input;
  return heartbeating(async ({ signal }) => {
    const used = new Set(exclude === null ? [] : await getJson<string[]>(services.artifacts, exclude));
    const failures = await failuresFor(services, input);
    const imports = input.choice === "imported" ? await importedTasks(services, input) : null;
    const indices = Array.from({ length: count }, (_, n) => from + n);
    // An author takes minutes, and nothing of one draw depends on another.
    const draws = await sideBySide(indices, signal, async (index, signal): Promise<Draw> => {
      signal.throwIfAborted();
      const of = {
        kind: "candidate",
        phase: "synthesise",
        scope,
        reuse,
        content: {
          ...source,
          index,
          ...(failures.length > 0 && { failures: hashJson(failures) }),
          ...(imports !== null && { imports: hashJson(imports.map(({ id }) => id)) }),
        },
      } as const;
      const whole = async (found: Draw) =>
        "none" in found || (await isWhole(services.artifacts, found.candidate.artifact));
      const make = async (): Promise<Draw> => {
        if (imports === null) return draw(services, input, index, failures, signal);
        const imported = imports[index];
        return imported === undefined
          ? { index, none: "no further imported task is proven" }
          : { index, candidate: importedCandidate(index, imported) };
      };
      const drawn = await pieceOf(services, of, whole, make);
      const isUsed = "candidate" in drawn && used.has(shortKey(drawn.candidate.key));
      return isUsed ? { index, none: "used before, by a fixed set or in an earlier iteration" } : drawn;
    });
    return {
      candidates: draws.flatMap((drawn) => ("candidate" in drawn ? [drawn.candidate] : [])),
      empty: draws.flatMap((drawn) => ("none" in drawn ? [{ index: drawn.index, reason: drawn.none }] : [])),
      ...(imports !== null && imports.length <= from + count && { exhausted: true }),
    };
  });
}

async function draw(
  services: SandboxServices,
  input: SynthesiseInput,
  index: number,
  failures: readonly FailureNote[],
  signal: AbortSignal,
): Promise<Draw> {
  const stream = random(input.seed, ...input.randomKeys, index);
  const chosen =
    input.choice === "round-robin"
      ? input.environments[index % input.environments.length]!
      : stream.pick(input.environments);
  const names = Object.keys(input.mix).sort() as GeneratorName[];
  const generator = names[stream.weighted(names.map((name) => input.mix[name] ?? 0))]!;
  const environment = await services.environments.byKey(chosen.key);
  const brief = briefOf(services, input, index, { failures, signal });
  const make = () => services.synthesis.generate(environment, generator, brief, stream);
  const candidate = await (generator === "llm"
    ? timed(services, ofCandidate("author", { index, generator }, input), make)
    : make());
  if ("none" in candidate) return { index, none: candidate.none };
  return {
    index,
    candidate: await keepCandidate(
      services,
      {
        index,
        environment: chosen,
        diversity: attributesOf({ name: chosen.name, root: environment.root }, candidate),
      },
      candidate,
    ),
  };
}
