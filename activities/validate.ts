/** validate: runs the gates on a candidate, and records the task with its first statement if it passes them all. */
import { getJson, putJson, recordStatement, recordTask, recordValidation } from "../services/store/index.ts";
import type { Candidate, GateVerdict } from "../services/synthesis/types.ts";
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
    const rejected = gates.find((gate) => !gate.passed)?.gate ?? null;
    let verdicts: readonly GateVerdict[] = gates;
    let accepted = task;
    if (task !== null) {
      const statement = services.synthesis.writeStatement(task, input.level);
      const leaks = services.synthesis.findLeaks(task, statement);
      verdicts = [...gates, { gate: "leak", passed: leaks.length === 0, evidence: leaks.join("; ") }];
      if (leaks.length > 0) accepted = null;
      else {
        await recordTask(services.db, task, await putJson(services.artifacts, task, "task"));
        await recordStatement(services.db, statement);
      }
    }
    const rejectedBy = accepted === null ? (rejected ?? "leak") : null;
    await recordValidation(services.db, {
      scope: input.recordScope,
      candidate: candidate.index,
      task_id: accepted?.id ?? null,
      generator: candidate.generator,
      outcome: rejectedBy ?? "valid",
      gates: verdicts,
    });
    return { taskId: accepted?.id ?? null, rejectedBy };
  });
}
