/** validate: runs the gates on a candidate, and records the task with its first statement if it passes them all. */
import type { ArtifactRef } from "../core/artifact.ts";
import type { Evidence, StatementLevel, Task } from "../core/task.ts";
import { evidenceOf, gradedTreeHash, RULES_VERSION } from "../services/grading/index.ts";
import {
  getJson,
  getStatement,
  getTask,
  hashJson,
  isWhole,
  keepRefusedForm,
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
import { benchmarksOf } from "./benchmarks.ts";
import { heartbeating } from "./context.ts";
import { proveImported } from "./imported.ts";
import { pieceOf } from "./pieces.ts";
import { ofCandidate, timed } from "./sandbox-time.ts";
import type { SandboxServices } from "./services.ts";
import type { ValidateInput, ValidateOutput } from "./types.ts";

interface Validation {
  readonly candidate: number;
  readonly taskId: string | null;
  readonly gates: readonly GateVerdict[];
  /** What the validation rests on, the solved tree with it; null where there is no task. */
  readonly evidence: ValidationEvidence | null;
  /** Of the statement that the task got; absent = the level asked for. */
  readonly level?: StatementLevel;
}

interface ValidationEvidence extends Evidence {
  /** sha256 (hex) of the statement the task got. */
  readonly statement: string;
}

export async function validate(services: SandboxServices, input: ValidateInput): Promise<ValidateOutput> {
  const { candidate, scope, reuse, stabilityRuns, level, gates: asked } = input;
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
        ...(asked && { gates: asked }),
        rules: RULES_VERSION,
      },
    } as const;
    const whole = (found: Validation) => stillRests(services, found, level);
    const {
      taskId,
      gates,
      evidence,
      level: written = level,
    } = await pieceOf<Validation>(services, of, whole, () =>
      timed(services, ofCandidate("validation", candidate, input), () => runGates(services, input, signal)),
    );
    const refusal = gates.find((gate) => !gate.passed);
    const outcome = refusal?.gate ?? "valid";
    const form = { scope: input.recordScope, candidate: candidate.index, outcome, gates: [...gates] };
    // The row is the valid form's that was probed, until there is another.
    if (taskId === null && input.revision !== undefined)
      await keepRefusedForm(services.db, { ...form, artifact: candidate.artifact });
    else
      await recordValidation(services.db, {
        ...form,
        task_id: taskId,
        generator: candidate.generator,
        evidence,
      });
    return {
      taskId,
      rejectedBy: refusal?.gate ?? null,
      message: refusal?.evidence ?? null,
      level: written,
    };
  });
}

/** Whether task and statement are, to the byte, those that passed the gates. */
async function stillRests(
  { db, artifacts }: SandboxServices,
  { taskId, evidence, level }: Validation,
  asked: StatementLevel,
): Promise<boolean> {
  if (taskId === null) return true;
  const { artifact } = await getTask(db, taskId);
  if (!(await isWhole(artifacts, artifact as ArtifactRef))) return false;
  const task = await getJson<Task>(artifacts, artifact as ArtifactRef);
  const { hash } = await getStatement(db, taskId, level ?? asked);
  return hashJson(evidence) === hashJson(restsOn(task, evidence?.tree ?? "", hash));
}

const restsOn = (task: Task, tree: string, statement: string): ValidationEvidence => ({
  ...evidenceOf(task, tree),
  statement,
});

/** Gates that a candidate may fail because its environment's own tests do not run any more. */
const BLAMES_ENVIRONMENT: ReadonlySet<GateName> = new Set(["build", "ends", "gold", "stability"]);

async function runGates(
  services: SandboxServices,
  { candidate, stabilityRuns, level, gates: asked }: ValidateInput,
  signal: AbortSignal,
): Promise<Validation> {
  if (candidate.task !== undefined) return provenImport(services, candidate, stabilityRuns, signal);
  const environment = await services.environments.byKey(candidate.environment.key);
  const proposal = await getJson<Candidate>(services.artifacts, candidate.artifact);
  const { task, gates } = await services.synthesis.validate(environment, proposal, {
    stabilityRuns,
    signal,
    ...(asked && { gates: asked, benchmarks: await benchmarksOf(services, asked.decontaminate) }),
  });
  if (gates.some(({ gate, passed }) => !passed && BLAMES_ENVIRONMENT.has(gate)))
    await services.environments.check(environment.key);
  const refused = { candidate: candidate.index, taskId: null, gates, evidence: null };
  if (task === null) return refused;
  // A statement that leaves out what the tests need is never tried.
  const written = Math.max(level, task.facts.neededLevel ?? 0) as StatementLevel;
  const statement = writeStatement(task, written);
  await recordTask(services.db, task, await putJson(services.artifacts, task, "task"));
  await recordStatement(services.db, statement);
  const solved = await gradedTreeHash({ environment, task, change: task.gold });
  return { ...refused, taskId: task.id, evidence: restsOn(task, solved, statement.hash), level: written };
}

/** It has the statement of its source, whatever level is asked for: there is no other. */
async function provenImport(
  services: SandboxServices,
  { index, task: known }: ValidateInput["candidate"],
  runs: number,
  signal: AbortSignal,
): Promise<Validation> {
  const { id, level } = known!;
  const { task, environment, gates, proven } = await proveImported(services, id, runs, signal);
  if (!proven) return { candidate: index, taskId: null, gates, evidence: null };
  const { hash } = await getStatement(services.db, id, level);
  const solved = await gradedTreeHash({ environment, task, change: task.gold });
  return { candidate: index, taskId: id, gates, evidence: restsOn(task, solved, hash), level };
}
