/** Evaluations beside those an experiment makes itself: any policy on any of its task sets, with any sampling. */
import type { Client } from "@temporalio/client";
import type { EvaluateOutput } from "../../activities/types.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Sampling } from "../../core/trajectory.ts";
import { type Db, planEvaluation } from "../../services/store/index.ts";
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
  const { scope, settings, policy, set } = await planEvaluation(db, request);
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
