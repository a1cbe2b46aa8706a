/** validate: runs the gates on a candidate, and records the task with its first statement if it passes them all. */
import { getJson, putJson, recordStatement, recordTask, recordValidation } from "../services/store/index.ts";
import { type Candidate, writeStatement } from "../services/synthesis/index.ts";
import { heartbeating } from "./context.ts";
import type { SandboxServices } from "./services.ts";
import type { ValidateInput, ValidateOutput } from "./types.ts";

export async function validate(services: SandboxServices, input: ValidateInput): Promise<ValidateOutput> {
  const { candidate } = input;
  return heartbeating(async ({ signal }) => {
    const environment = await services.environments.byKey(candidate.environment.key);
    const proposal = await getJson<Candidate>(services.artifacts, candidate.artifact);
    const { task, gates } = await services.synthesis.validate(environment, proposal, {
      stabilityRuns: input.stabilityRuns,
      signal,
    });
    const rejectedBy = gates.find((gate) => !gate.passed)?.gate ?? null;
    if (task !== null) {
      await recordTask(services.db, task, await putJson(services.artifacts, task, "task"));
      await recordStatement(services.db, writeStatement(task, input.level));
    }
    await recordValidation(services.db, {
      scope: input.recordScope,
      candidate: candidate.index,
      task_id: task?.id ?? null,
      generator: candidate.generator,
      outcome: rejectedBy ?? "valid",
      gates,
    });
    return { taskId: task?.id ?? null, rejectedBy };
  });
}
