/** filter: reads a probe's verdicts, applies core/learnability and core/refinement, writes the label, returns the decision. */
import { refinementAction } from "../core/refinement.ts";
import { hashJson, recordProbe } from "../services/store/index.ts";
import type { RecordServices } from "./services.ts";
import type { FilterInput, FilterOutput } from "./types.ts";

export async function filter(services: RecordServices, input: FilterInput): Promise<FilterOutput> {
  const { group } = input;
  const decision = refinementAction({
    passes: input.passes,
    runs: group.size,
    band: input.filter.band,
    level: input.level,
    probed: input.probed,
    refinements: input.refinement,
    maxRefinements: input.filter.maxRefinements,
    minLevel: input.levels.min,
    maxLevel: input.levels.max,
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
    // A label is void when any of these changes.
    label_key: hashJson({
      task: input.taskId,
      level: input.level,
      policy: group.policy.id,
      limits: group.limits,
      sampling: group.sampling,
    }),
    decision: decision.action === "drop" ? `drop: ${decision.reason}` : decision.action,
    group_key: group.key,
  });
  return decision;
}
