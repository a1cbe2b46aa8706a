/** Candidates on their way to workflows: the whole as an artifact, and what refers to it. */
import { putJson } from "../services/store/index.ts";
import { type Candidate, candidateKey } from "../services/synthesis/index.ts";
import type { RecordServices } from "./services.ts";
import type { CandidateRef } from "./types.ts";

/** `of`: what stays the same whatever the candidate becomes. */
export async function keepCandidate(
  { artifacts }: Pick<RecordServices, "artifacts">,
  of: Omit<CandidateRef, "generator" | "key" | "functions" | "artifact">,
  made: Candidate,
): Promise<CandidateRef> {
  return {
    ...of,
    generator: made.generator,
    key: candidateKey(made),
    functions: made.functions,
    artifact: await putJson(artifacts, made, "task"),
  };
}
