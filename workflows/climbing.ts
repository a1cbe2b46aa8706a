/** What the exact and the asynchronous climb share: what they are given, what they come to, and how a group of theirs is collected. */
import { executeChild } from "@temporalio/workflow";
import type { GroupInput } from "../activities/types.ts";
import { describeGroup } from "../core/descriptions.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { groupPlan } from "../core/groups.ts";
import { tryId } from "../core/ids.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { attributesOf, searchAttributes } from "./attributes.ts";
import type { AdmittedTask } from "./calibrateTask.ts";
import { collectGroup, type GrownGroup } from "./collectGroup.ts";
import { groupSettings } from "./groupSettings.ts";

export interface ClimbInput {
  readonly scope: Scope;
  readonly settings: ExperimentSettings;
  readonly policy: PolicyRef;
  readonly tasks: readonly AdmittedTask[];
  /** Rollouts of `climb.rolloutBudget` that the pool has spent; absent = none. */
  readonly spent?: number;
  readonly reuse?: Reuse | null;
}

export interface Checkpoint {
  readonly update: number;
  readonly policy: PolicyRef;
}

export interface ClimbGroup {
  readonly key: string;
  /** Of its workflow, below the try's: `group/<name>`. */
  readonly name: string;
  readonly task: AdmittedTask;
  readonly policy: PolicyRef;
  readonly randomKeys: GroupInput["randomKeys"];
  /** The update it is for; null where that is not known yet. */
  readonly update: number | null;
}

export function collectClimbGroup(
  input: ClimbInput,
  { key, name, task, policy, randomKeys, update }: ClimbGroup,
): Promise<GrownGroup> {
  const { scope, settings } = input;
  const plan = groupPlan(settings);
  const group: GroupInput = {
    ...groupSettings(settings),
    scope,
    phase: "climb",
    key,
    taskId: task.taskId,
    level: task.level,
    policy,
    size: settings.climb.groupSize,
    randomKeys,
    reuse: input.reuse ?? null,
  };
  return executeChild(collectGroup, {
    workflowId: `${tryId(scope)}/group/${name}`,
    args: [plan.kind === "fixed" ? { group } : { group, plan }],
    ...describeGroup(group, update),
    typedSearchAttributes: searchAttributes({
      ...attributesOf(scope, "climb", policy),
      environment: task.environment,
    }),
  });
}
