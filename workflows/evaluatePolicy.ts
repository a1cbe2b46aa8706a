/** Evaluates one policy on one fixed task set: tasks × samples, the same random streams for every policy. */
import { continueAsNew, setCurrentDetails } from "@temporalio/workflow";
import type { EvaluateOutput, GroupInput, TaskSetRef } from "../activities/types.ts";
import { type EvaluationStanding, evaluationDetails, withPasses } from "../core/details.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import type { StatementLevel } from "../core/task.ts";
import type { Sampling } from "../core/trajectory.ts";
import { collect } from "./collectGroup.ts";
import { ACTIVITY_EVENTS, historyIsLong, records } from "./config.ts";
import { groupSettings } from "./groupSettings.ts";
import { serveAnew } from "./policies.ts";
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
  /** What the details say of the runs before. */
  readonly shown?: Pick<EvaluationStanding, "passes" | "lastFailure">;
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
      ...groupSettings(settings),
      seed: settings.evaluation.seed,
      // Neither the policy nor the iteration: policies are compared under the same random streams.
      randomKeys: ["evaluate", set.name, taskId],
      sampling: input.sampling,
      grading: input.grading,
      reuse: input.reuse ?? null,
    }),
  );
  const { groups: window } = settings.concurrency;
  const before = input.collected ?? 0;
  const since = Date.now();
  let { passes: seen, lastFailure } = input.shown ?? { passes: [], lastFailure: null };
  let tasks = before;
  const show = (): void => {
    const pace = { since, now: Date.now(), done: tasks - before, left: groups.length - tasks };
    setCurrentDetails(evaluationDetails({ tasks, of: groups.length, passes: seen, lastFailure, pace }));
  };
  show();
  await serveAnew(input.policy, settings);
  const now = await mapWindow(
    groups.slice(before),
    window,
    async (group) => {
      const { passes, failure } = await collect({ group });
      tasks++;
      seen = withPasses(seen, passes, input.samples);
      lastFailure = failure ?? lastFailure;
      show();
    },
    () => historyIsLong(window * (input.samples + 1) * ACTIVITY_EVENTS),
  );
  const collected = before + now.length;
  if (collected < groups.length)
    return await continueAsNew<typeof evaluatePolicy>({
      ...input,
      collected,
      shown: { passes: seen, lastFailure },
    });
  return records.evaluate({
    scope,
    set: set.name,
    setHash: set.hash,
    mode: input.mode,
    policy: input.policy.id,
    groups: groups.map((group) => group.key),
    seed: settings.evaluation.seed,
  });
}
