/** One candidate: validate → probe → admit, refine or drop (docs/method.md §3). */
import type { CandidateRef, GroupInput, ValidateInput } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { StatementLevel } from "../core/task.ts";
import { collect } from "./collectGroup.ts";
import { records, sandboxes, withSummary } from "./config.ts";

export interface CalibrateTaskInput {
  readonly scope: Scope;
  readonly candidate: CandidateRef;
  readonly policy: PolicyRef;
  readonly settings: ExperimentSettings;
  readonly reuse?: Reuse | null;
}

export interface AdmittedTask {
  readonly taskId: string;
  readonly level: StatementLevel;
  /** Key of the probe group that admitted it; null without a filter. */
  readonly probeGroup: string | null;
}

export interface CalibrateTaskOutput {
  readonly admitted: AdmittedTask | null;
  readonly refinements: number;
  /** Why it was dropped: a gate, or the filter's reason. */
  readonly reason: string | null;
}

export function validateInput(
  record: string,
  candidate: CandidateRef,
  settings: { readonly stabilityRuns: number; readonly level: StatementLevel },
): ValidateInput {
  return { recordScope: record, candidate, stabilityRuns: settings.stabilityRuns, level: settings.level };
}

export async function calibrateTask(input: CalibrateTaskInput): Promise<CalibrateTaskOutput> {
  const { scope, candidate, settings, policy } = input;
  const { synthesis, filter } = settings;
  const { taskId, rejectedBy } = await sandboxes.validate.executeWithOptions(
    withSummary(
      "sandbox",
      `validate ${candidate.generator} candidate ${candidate.index} in ${candidate.environment.name}`,
    ),
    [
      {
        ...validateInput(scopeKey(scope), candidate, {
          stabilityRuns: synthesis.stabilityRuns,
          level: synthesis.startLevel,
        }),
        scope,
        reuse: input.reuse ?? null,
      },
    ],
  );
  if (taskId === null) return { admitted: null, refinements: 0, reason: rejectedBy };
  let level = synthesis.startLevel;
  if (!filter.enabled) return { admitted: { taskId, level, probeGroup: null }, refinements: 0, reason: null };
  const probed: StatementLevel[] = [];
  for (let refinement = 0; ; refinement++) {
    probed.push(level);
    const group: GroupInput = {
      scope,
      phase: "probe",
      key: `${scopeKey(scope)}/task/${candidate.index}/probe/${refinement}`,
      taskId,
      level,
      policy,
      size: filter.probes,
      seed: settings.seed,
      randomKeys: [scope.iteration, "probe", candidate.index, refinement],
      limits: settings.rollout.limits,
      sampling: settings.rollout.sampling,
      sandbox: settings.sandbox,
      grading: settings.grading,
      reward: settings.reward,
      policyServer: settings.policy,
      infrastructureRetries: settings.limits.infrastructureRetries,
      reuse: input.reuse ?? null,
    };
    const { passes } = await collect({ group });
    const decision = await records.filter.executeWithOptions(
      withSummary("record", `${passes}/${filter.probes} passes at level ${level}`),
      [
        {
          recordScope: scopeKey(scope),
          candidate: candidate.index,
          taskId,
          level,
          refinement,
          probed,
          group,
          passes,
          filter,
          levels: { min: synthesis.minLevel, max: synthesis.maxLevel },
        },
      ],
    );
    if (decision.action === "admit")
      return { admitted: { taskId, level, probeGroup: group.key }, refinements: refinement, reason: null };
    if (decision.action === "drop")
      return { admitted: null, refinements: refinement, reason: decision.reason };
    const { written, reason } = await records.refine.executeWithOptions(
      withSummary("record", `statement level ${level} → ${decision.level}`),
      [{ taskId, level: decision.level }],
    );
    if (!written) return { admitted: null, refinements: refinement, reason };
    level = decision.level;
  }
}
