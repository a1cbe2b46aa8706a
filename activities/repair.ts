/** repair: sends a candidate back to its author with what was said of it, and keeps on record what it was before. */
import { getJson, hashJson, isWhole, keepEarlierForm } from "../services/store/index.ts";
import type { Candidate } from "../services/synthesis/index.ts";
import { briefOf, failuresFor } from "./author.ts";
import { keepCandidate } from "./candidates.ts";
import { heartbeating } from "./context.ts";
import { pieceOf } from "./pieces.ts";
import { ofCandidate, timed } from "./sandbox-time.ts";
import type { SandboxServices } from "./services.ts";
import type { CandidateRef, RepairInput, RepairOutput } from "./types.ts";

/** As a draw is kept: under the index of its candidate. */
interface Repaired {
  readonly index: number;
  readonly candidate?: CandidateRef;
  readonly none?: string;
}

export async function repair(services: SandboxServices, input: RepairInput): Promise<RepairOutput> {
  const { candidate, round, messages, source, recordScope } = input;
  const { scope, reuse, exclude: _, ...rest } = source;
  return heartbeating(async ({ signal }) => {
    const failures = await failuresFor(services, source);
    const of = {
      kind: "candidate",
      phase: "synthesise",
      scope,
      reuse,
      content: {
        repairs: candidate.artifact.sha256,
        round,
        messages,
        author: rest.author ?? null,
        failures: hashJson(failures),
      },
    } as const;
    const whole = async ({ candidate: found }: Repaired) =>
      found === undefined || (await isWhole(services.artifacts, found.artifact));
    const made = await pieceOf<Repaired>(services, of, whole, async () => {
      const environment = await services.environments.byKey(candidate.environment.key);
      const known = await getJson<Candidate>(services.artifacts, candidate.artifact);
      const brief = briefOf(services, source, candidate.index, { failures, round, signal });
      const next = await timed(services, ofCandidate("author", candidate, source), () =>
        services.synthesis.repair(environment, known, messages, brief),
      );
      if ("none" in next) return { index: candidate.index, none: next.none };
      return { index: candidate.index, candidate: await keepCandidate(services, candidate, next) };
    });
    await keepEarlierForm(services.db, {
      scope: recordScope,
      candidate: candidate.index,
      artifact: candidate.artifact,
    });
    return { candidate: made.candidate ?? null, reason: made.none ?? null };
  });
}
