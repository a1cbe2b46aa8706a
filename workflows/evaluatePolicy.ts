/** Evaluates one policy on one fixed task set: tasks × samples, the same random streams for every policy. */
import { continueAsNew } from "@temporalio/workflow";
import type { EvaluateOutput, GroupInput, TaskSetRef } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import type { StatementLevel } from "../core/task.ts";
import type { Sampling } from "../core/trajectory.ts";
import { collect } from "./collectGroup.ts";
import { ACTIVITY_EVENTS, historyIsLong, records, withSummary } from "./config.ts";
import { mapWindow } from "./window.ts";

export interface EvaluatePolicyInput {
  readonly scope: Scope;
  readonly set: TaskSetRef;
  /** Names the kind of evaluation in records: `sampled`, `greedy`, `validation-<iteration>-<try>-<update>`, or a control. */
  readonly mode: string;
  readonly policy: PolicyRef;
  readonly samples: number;
  readonly sampling: Sampling;
  readonly level: StatementLevel;
  readonly settings: ExperimentSettings;
  readonly grading: ExperimentSettings["grading"];
  /** Of the selection in a replay. */
  readonly reuse?: Reuse | null;
  /** Tasks whose groups are collected, the first of the set: carried over when the history grows long. */
  readonly collected?: number;
}

export async function evaluatePolicy(input: EvaluatePolicyInput): Promise<EvaluateOutput> {
  const { scope, set, settings } = input;
  const groups = set.tasks.map(
    (taskId): GroupInput => ({
      scope,
      phase: "evaluate",
      key: `${scope.experiment}/eval/${set.name}/${input.mode}/${input.policy.id}/${taskId}`,
      taskId,
      level: input.level,
      policy: input.policy,
      size: input.samples,
      seed: settings.evaluation.seed,
      // Neither the policy nor the iteration: policies are compared under the same random streams.
      randomKeys: ["evaluate", set.name, taskId],
      limits: settings.rollout.limits,
      sampling: input.sampling,
      sandbox: settings.sandbox,
      grading: input.grading,
      reward: settings.reward,
      policyServer: settings.policy,
      infrastructureRetries: settings.limits.infrastructureRetries,
      reuse: input.reuse ?? null,
    }),
  );
  const { groups: window } = settings.concurrency;
  const before = input.collected ?? 0;
  const now = await mapWindow(
    groups.slice(before),
    window,
    (group) => collect({ group }),
    () => historyIsLong(window * (input.samples + 1) * ACTIVITY_EVENTS),
  );
  const collected = before + now.length;
  if (collected < groups.length) return await continueAsNew<typeof evaluatePolicy>({ ...input, collected });
  return records.evaluate.executeWithOptions(
    withSummary("record", `pass@1 of ${input.policy.id} on ${set.name}`),
    [
      {
        scope,
        set: set.name,
        setHash: set.hash,
        mode: input.mode,
        policy: input.policy.id,
        groups: groups.map((group) => group.key),
        seed: settings.evaluation.seed,
      },
    ],
  );
}
