/** filter: reads a probe's verdicts, decides, diagnoses what is out of band, writes the label, and names the action (docs/refinement.md). */
import { type Diagnosis, diagnose } from "../core/diagnosis.ts";
import type { LabelBasis } from "../core/label.ts";
import { type Decision, direction } from "../core/learnability.ts";
import { decideProbe, estimatedRate, probePlan } from "../core/probing.ts";
import { probeDecision, refinementAction } from "../core/refinement.ts";
import type { Statement, Task } from "../core/task.ts";
import { HARNESS_VERSION } from "../services/harness/index.ts";
import { getStatement, hashJson, listRollouts, recordProbe } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import { symptomsOf } from "./symptoms.ts";
import { loadTask } from "./tasks.ts";
import type { FilterInput, FilterOutput } from "./types.ts";

export async function filter(services: RecordServices, input: FilterInput): Promise<FilterOutput> {
  const { group } = input;
  const plan = probePlan(input.filter);
  const counts = { passes: input.passes, runs: group.size };
  const decision = decideProbe(plan, counts);
  if (decision === null)
    throw new Error(`probe ${group.key}: ${counts.passes} of ${counts.runs} results decide nothing`);
  const statement = await getStatement(services.db, input.taskId, input.level);
  const task = direction(decision) === "admit" ? null : await loadTask(services, input.taskId);
  const diagnosis = task === null ? null : await diagnosed(services, input, decision, task, statement);
  const action = refinementAction({
    decision,
    level: input.level,
    probed: input.probed,
    refinements: input.refinement,
    maxRefinements: input.filter.maxRefinements,
    minLevel: input.levels.min,
    maxLevel: input.levels.max,
    neededLevel: task?.facts.neededLevel ?? 0,
    cause: diagnosis?.cause ?? null,
    ...(input.means === undefined ? {} : { means: input.means, done: input.done ?? [] }),
  });
  await recordProbe(services.db, {
    scope: input.recordScope,
    candidate: input.candidate,
    refinement: input.refinement,
    task_id: input.taskId,
    level: input.level,
    policy: group.policy.id,
    passes: input.passes,
    runs: group.size,
    planned: plan.runs,
    rate: estimatedRate(plan, counts),
    label_key: hashJson({
      task: input.taskId,
      statement: statement.hash,
      policy: group.policy.id,
      harness: HARNESS_VERSION,
      limits: group.limits,
      sampling: group.sampling,
    } satisfies LabelBasis),
    diagnosis,
    decision: probeDecision(action),
    group_key: group.key,
  });
  return diagnosis === null ? action : { ...action, diagnosis };
}

async function diagnosed(
  { db, artifacts }: RecordServices,
  { group }: FilterInput,
  decision: Decision,
  task: Task,
  statement: Statement,
): Promise<Diagnosis | null> {
  const rows = (await listRollouts(db, group.key)).filter(({ member }) => member < group.size);
  return diagnose(await symptomsOf(artifacts, { decision, task, statement, rows }));
}
