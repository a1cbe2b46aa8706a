/** One rollout of one task, asked for by hand: made as an evaluation makes its own, recorded, and part of no result. */
import { type Client, WorkflowFailedError } from "@temporalio/client";
import type { GroupInput } from "../../activities/types.ts";
import { describeGroup } from "../../core/descriptions.ts";
import { evaluationGrading } from "../../core/experiment.ts";
import { experimentId } from "../../core/ids.ts";
import { HARNESS_VERSION } from "../../services/harness/index.ts";
import { type Db, planTrial } from "../../services/store/index.ts";
import { attributesOf, searchAttributes } from "../../workflows/attributes.ts";
import type { collectGroup } from "../../workflows/collectGroup.ts";
import { groupSettings } from "../../workflows/groupSettings.ts";
import { QUEUES } from "../../workflows/queues.ts";
import { type Failure, failureOf } from "./experiments.ts";

interface Context {
  readonly db: Db;
  readonly client: Client;
}

export interface TrialChoices {
  readonly task: string;
  /** Absent = the latest whose candidate the task was. */
  readonly experiment?: string | undefined;
  /** An id, or `latest` (which it is where it is absent): the last that the experiment chose. */
  readonly policy?: string | undefined;
  readonly level?: number | undefined;
  /** Of the random choices; the experiment's own where it is absent. */
  readonly seed?: number | undefined;
}

/** Which one it is: the same choices are the same rollout. */
export interface Trial {
  readonly task: string;
  readonly experiment: string;
  readonly policy: string;
  readonly level: number;
  readonly seed: number;
  /** Key of the rollout, on record once it has ended. */
  readonly rollout: string;
}

/** No evaluation set has this name. */
const SET = "task.try";

const workflowId = ({ experiment, task, policy, level, seed }: Trial): string =>
  `${experimentId(experiment)}/try-task/${task}/${policy}/${level}-${seed}`;

/** Throws StoreError `missing` for a task, experiment, policy or statement that is not there. */
export async function startTrial({ db, client }: Context, choices: TrialChoices): Promise<Trial> {
  const wanted = { ...choices, policy: choices.policy ?? "latest", harness: HARNESS_VERSION };
  const { scope, settings, policy, task, level } = await planTrial(db, wanted);
  const { experiment } = scope;
  const seed = choices.seed ?? settings.seed;
  const key = `${experiment}/eval/${SET}/level-${level}-seed-${seed}/${policy.id}/${task.id}`;
  const trial: Trial = { task: task.id, experiment, policy: policy.id, level, seed, rollout: `${key}/0` };
  const group: GroupInput = {
    scope,
    phase: "evaluate",
    key,
    taskId: task.id,
    level,
    policy,
    size: 1,
    ...groupSettings(settings),
    seed,
    randomKeys: ["try", task.id, level],
    grading: evaluationGrading(settings, "cold"),
    reuse: null,
  };
  await client.workflow.start<typeof collectGroup>("collectGroup", {
    workflowId: workflowId(trial),
    taskQueue: QUEUES.orchestrate,
    workflowIdConflictPolicy: "USE_EXISTING",
    args: [{ group }],
    ...describeGroup(group, null),
    typedSearchAttributes: searchAttributes(attributesOf(scope, "evaluation", policy)),
  });
  return trial;
}

/** Resolves with null once its rollout is on record with a verdict, else with why it is not. */
export async function trialOutcome(
  { client }: Pick<Context, "client">,
  trial: Trial,
): Promise<Failure | null> {
  try {
    await client.workflow.getHandle(workflowId(trial)).result();
    return null;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return failureOf(error);
  }
}
