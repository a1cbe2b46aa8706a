/** Evaluations beside those an experiment makes itself: any policy on any of its task sets, with any sampling. */
import type { Client } from "@temporalio/client";
import type { EvaluateOutput, TaskSetRef } from "../../activities/types.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Sampling } from "../../core/trajectory.ts";
import {
  type Db,
  findTaskSet,
  getExperiment,
  getPolicy,
  policyIteration,
  StoreError,
  taskSetHash,
} from "../../services/store/index.ts";
import type { evaluatePolicy } from "../../workflows/evaluatePolicy.ts";
import { experimentId } from "../../workflows/ids.ts";
import { QUEUES } from "../../workflows/queues.ts";

export interface EvaluationRequest {
  readonly experiment: string;
  readonly policy: string;
  readonly set: string;
  /** Names it in the record; the same mode with the same policy and set is the same evaluation. */
  readonly mode: string;
  readonly samples: number;
  readonly sampling: Sampling;
  readonly grading: ExperimentSettings["grading"];
}

/** Runs it to its end, or joins it. Throws StoreError `missing` for an unknown experiment, policy or set. */
export async function evaluate(
  context: { readonly db: Db; readonly client: Client },
  request: EvaluationRequest,
): Promise<EvaluateOutput> {
  const { db, client } = context;
  const settings = (await getExperiment(db, request.experiment)).settings as ExperimentSettings;
  const { kind: _, ...policy } = await getPolicy(db, request.policy);
  const set = await findSet(db, request.experiment, request.set, settings);
  const scope = {
    experiment: request.experiment,
    iteration: await policyIteration(db, request.experiment, request.policy),
    try: 1,
  };
  return client.workflow.execute<typeof evaluatePolicy>("evaluatePolicy", {
    workflowId: `eval/${policy.id}/${set.name}/${request.mode}/${experimentId(request.experiment)}`,
    taskQueue: QUEUES.orchestrate,
    workflowIdConflictPolicy: "USE_EXISTING",
    staticSummary: `${policy.id} on ${set.name}, ${request.mode}`,
    args: [
      {
        scope,
        set,
        mode: request.mode,
        policy,
        samples: request.samples,
        sampling: request.sampling,
        level: settings.synthesis.startLevel,
        settings,
        grading: request.grading,
      },
    ],
  });
}

async function findSet(
  db: Db,
  experiment: string,
  name: string,
  settings: ExperimentSettings,
): Promise<TaskSetRef> {
  const hash = await taskSetHash(db, experiment, name);
  const row = hash === undefined ? undefined : await findTaskSet(db, hash);
  if (row === undefined) {
    throw new StoreError(
      "missing",
      `experiment "${experiment}" has no task set "${name}" yet; its sets are ${Object.keys(settings.evaluation.sets).join(", ")}`,
    );
  }
  return { name, hash: row.hash, tasks: row.tasks, keys: (row.spec as { readonly keys: string[] }).keys };
}
