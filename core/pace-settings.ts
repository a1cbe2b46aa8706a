/** The pace that an experiment's settings ask for. */
import type { ExperimentSettings } from "./experiment.ts";
import { updateRollouts } from "./groups.ts";
import type { PaceSettings } from "./pace.ts";
import { isEngineKind } from "./policy.ts";

/** Settings of before there were paces have the exact one. */
export function isAsync(settings: ExperimentSettings): boolean {
  return (settings.climb.pace as ExperimentSettings["climb"]["pace"] | undefined)?.kind === "async";
}

/** `tasks` = tasks of the pool: a batch has no more groups. */
export function paceSettings(settings: ExperimentSettings, tasks: number): PaceSettings {
  const { updates, tasksPerBatch, groupSize, maxLag, pace, rolloutBudget } = settings.climb;
  return {
    updates,
    batch: Math.min(tasksPerBatch, tasks),
    groupSize,
    trajectories: pace.trajectories,
    maxLag,
    stale: pace.stale,
    onPublish: onPublish(settings),
    budget:
      rolloutBudget === null ? null : { rollouts: rolloutBudget, perGroup: updateRollouts(settings, 1) },
  };
}

/** The stack's own server keeps every version; an engine has one at a time. */
function onPublish({ policy }: ExperimentSettings): PaceSettings["onPublish"] {
  if (!isEngineKind(policy.kind)) return "keep";
  return policy.engines?.onPublish === "continue" ? "continue" : "drain";
}
