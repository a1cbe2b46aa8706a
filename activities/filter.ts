/** filter: reads a probe's verdicts, applies core/learnability and core/refinement, writes the label, returns the decision. */
import { decideProbe, estimatedRate, probePlan } from "../core/probing.ts";
import { refinementAction } from "../core/refinement.ts";
import { HARNESS_VERSION } from "../services/harness/index.ts";
import { getStatement, hashJson, recordProbe } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import type { FilterInput, FilterOutput } from "./types.ts";

export async function filter(services: RecordServices, input: FilterInput): Promise<FilterOutput> {
  const { group } = input;
  const plan = probePlan(input.filter);
  const counts = { passes: input.passes, runs: group.size };
  const found = decideProbe(plan, counts);
  if (found === null)
    throw new Error(`probe ${group.key}: ${counts.passes} of ${counts.runs} results decide nothing`);
  const decision = refinementAction({
    decision: found,
    level: input.level,
    probed: input.probed,
    refinements: input.refinement,
    maxRefinements: input.filter.maxRefinements,
    minLevel: input.levels.min,
    maxLevel: input.levels.max,
  });
  const { hash } = await getStatement(services.db, input.taskId, input.level);
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
    // A label is void when any of these changes.
    label_key: hashJson({
      task: input.taskId,
      statement: hash,
      policy: group.policy.id,
      harness: HARNESS_VERSION,
      limits: group.limits,
      sampling: group.sampling,
    }),
    decision: decision.action === "drop" ? `drop: ${decision.reason}` : decision.action,
    group_key: group.key,
  });
  return decision;
}
