/** harden: combines a candidate that is always solved with another mistake of its environment. */
import { random } from "../core/random.ts";
import { scopeKey } from "../core/scope.ts";
import { getJson, keepEarlierForm } from "../services/store/index.ts";
import type { Candidate } from "../services/synthesis/index.ts";
import { keepCandidate } from "./candidates.ts";
import { heartbeating } from "./context.ts";
import type { SandboxServices } from "./services.ts";
import type { HardenInput, HardenOutput } from "./types.ts";

export async function harden(services: SandboxServices, input: HardenInput): Promise<HardenOutput> {
  const { scope, candidate, taskId, round, seed, heldOutShare } = input;
  return heartbeating(async () => {
    const environment = await services.environments.byKey(candidate.environment.key);
    const known = await getJson<Candidate>(services.artifacts, candidate.artifact);
    const made = await services.synthesis.harden(
      environment,
      known,
      { task: taskId, action: "harden", round },
      { functions: "train", heldOutShare },
      random(seed, scope.iteration, "harden", candidate.index, round),
    );
    if ("none" in made) return { candidate: null, reason: made.none };
    const { artifact } = candidate;
    await keepEarlierForm(services.db, { scope: scopeKey(scope), candidate: candidate.index, artifact });
    return { candidate: await keepCandidate(services, candidate, made), reason: null };
  });
}
