/** validate: runs the gates on a candidate, and records the task with its first statement if it passes them all. */
import type { ArtifactRef } from "../core/artifact.ts";
import {
  getJson,
  getTask,
  isWhole,
  putJson,
  recordStatement,
  recordTask,
  recordValidation,
} from "../services/store/index.ts";
import {
  type Candidate,
  type GateName,
  type GateVerdict,
  writeStatement,
} from "../services/synthesis/index.ts";
import { heartbeating } from "./context.ts";
import { pieceOf } from "./pieces.ts";
import type { SandboxServices } from "./services.ts";
import type { ValidateInput, ValidateOutput } from "./types.ts";

interface Validation {
  readonly candidate: number;
  readonly taskId: string | null;
  readonly gates: readonly GateVerdict[];
}

export async function validate(services: SandboxServices, input: ValidateInput): Promise<ValidateOutput> {
  const { candidate, scope, reuse, stabilityRuns, level } = input;
  return heartbeating(async ({ signal }) => {
    const of = {
      kind: "validation",
      phase: "synthesise",
      scope,
      reuse,
      content: {
        candidate: candidate.index,
        artifact: candidate.artifact.sha256,
        environment: candidate.environment.key,
        stabilityRuns,
        level,
      },
    } as const;
    const whole = async ({ taskId }: Validation) =>
      taskId === null ||
      (await isWhole(services.artifacts, (await getTask(services.db, taskId)).artifact as ArtifactRef));
    const { taskId, gates } = await pieceOf<Validation>(services, of, whole, () =>
      runGates(services, input, signal),
    );
    const rejectedBy = gates.find((gate) => !gate.passed)?.gate ?? null;
    await recordValidation(services.db, {
      scope: input.recordScope,
      candidate: candidate.index,
      task_id: taskId,
      generator: candidate.generator,
      outcome: rejectedBy ?? "valid",
      gates: [...gates],
    });
    return { taskId, rejectedBy };
  });
}

/** Gates that a candidate may fail because its environment's own tests do not run any more. */
const BLAMES_ENVIRONMENT: ReadonlySet<GateName> = new Set(["build", "ends", "gold", "stability"]);

async function runGates(
  services: SandboxServices,
  { candidate, stabilityRuns, level }: ValidateInput,
  signal: AbortSignal,
): Promise<Validation> {
  const environment = await services.environments.byKey(candidate.environment.key);
  const proposal = await getJson<Candidate>(services.artifacts, candidate.artifact);
  const { task, gates } = await services.synthesis.validate(environment, proposal, { stabilityRuns, signal });
  if (gates.some(({ gate, passed }) => !passed && BLAMES_ENVIRONMENT.has(gate)))
    await services.environments.check(environment.key);
  if (task !== null) {
    await recordTask(services.db, task, await putJson(services.artifacts, task, "task"));
    await recordStatement(services.db, writeStatement(task, level));
  }
  return { candidate: candidate.index, taskId: task?.id ?? null, gates };
}
