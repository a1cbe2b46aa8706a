/** Evaluations beside those an experiment makes itself: any policy on any of its task sets, with any sampling. */
import { type Client, WorkflowFailedError } from "@temporalio/client";
import { WorkflowNotFoundError } from "@temporalio/common";
import type { EvaluateOutput } from "../../activities/types.ts";
import { describeEvaluation } from "../../core/descriptions.ts";
import { type ExperimentSettings, evaluationGrading, evaluationMode, GREEDY } from "../../core/experiment.ts";
import { evaluationId, experimentId } from "../../core/ids.ts";
import type { Sampling } from "../../core/trajectory.ts";
import { type Db, planEvaluation, StoreError } from "../../services/store/index.ts";
import type { EvaluationItem } from "../../services/store/pages.ts";
import { attributesOf, searchAttributes } from "../../workflows/attributes.ts";
import type { evaluatePolicy } from "../../workflows/evaluatePolicy.ts";
import { QUEUES } from "../../workflows/queues.ts";
import { failureOf, workflowRuns } from "./experiments.ts";
import { evaluationsPage } from "./pages.ts";

interface Context {
  readonly db: Db;
  readonly client: Client;
}

export interface EvaluationRequest {
  readonly experiment: string;
  /** An id, or `latest`. */
  readonly policy: string;
  readonly set: string;
  /** Names it in the record; the same mode with the same policy and set is the same evaluation. */
  readonly mode: string;
  readonly samples: number;
  readonly sampling: Sampling;
  readonly grading: ExperimentSettings["grading"];
}

/** What is asked for beside the settings of the experiment, which hold for everything that is absent. */
export interface EvaluationChoices {
  readonly experiment: string;
  /** An id, or `latest`. */
  readonly policy: string;
  readonly set: string;
  /** 1 to `SAMPLES_LIMIT`. */
  readonly samples?: number | undefined;
  /** From 0 on. */
  readonly temperature?: number | undefined;
  /** Greedy decoding, one sample per task. */
  readonly greedy?: boolean | undefined;
  /** Grades every rollout in a new process. */
  readonly cold?: boolean | undefined;
}
export const SAMPLES_LIMIT = 10_000;

/** Which evaluation it is; `mode` is made of the choices. */
export interface EvaluationId {
  readonly experiment: string;
  readonly policy: string;
  readonly set: string;
  readonly mode: string;
}

export interface EvaluationState extends EvaluationId {
  readonly status: "running" | "done" | "failed";
  /** Null until it is done. */
  readonly result: EvaluationItem | null;
  /** Why it failed. */
  readonly error: string | null;
}

const workflowId = ({ experiment, ...what }: EvaluationId): string =>
  evaluationId(what, experimentId(experiment));

/** Runs it to its end, or joins it. Throws StoreError `missing` for an unknown experiment, policy or set. */
export async function evaluate(context: Context, request: EvaluationRequest): Promise<EvaluateOutput> {
  const id = await start(context, request);
  return context.client.workflow.getHandle<typeof evaluatePolicy>(workflowId(id)).result();
}

/** Starts it, or joins it where it runs. Throws as `evaluate` does. */
export async function startEvaluation(
  context: Context,
  { experiment, policy, set, samples, temperature, greedy = false, cold = false }: EvaluationChoices,
): Promise<EvaluationId> {
  const { settings } = await planEvaluation(context.db, { experiment, policy, set });
  const own = settings.evaluation;
  const sampling = greedy
    ? GREEDY
    : { ...own.sampling, temperature: temperature ?? own.sampling.temperature };
  const each = greedy ? 1 : (samples ?? own.sets[set]?.samplesPerTask ?? 1);
  const grading = cold ? "cold" : own.grading;
  return start(context, {
    experiment,
    policy,
    set,
    mode: evaluationMode(sampling, each, grading),
    samples: each,
    sampling,
    grading: evaluationGrading(settings, grading),
  });
}

/** How far one is that was started, or that an experiment made itself. Throws StoreError `missing`. */
export async function evaluationState(context: Context, id: EvaluationId): Promise<EvaluationState> {
  const { client } = context;
  const handle = client.workflow.getHandle(workflowId(id));
  try {
    if (await workflowRuns({ client }, handle.workflowId))
      return { ...id, status: "running", result: null, error: null };
    await handle.result();
  } catch (error) {
    if (error instanceof WorkflowFailedError)
      return { ...id, status: "failed", result: null, error: failureOf(error).reason };
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
  const [result] = (await evaluationsPage(context, { filters: id, limit: 1 })).items;
  if (result === undefined)
    throw new StoreError(
      "missing",
      `no evaluation ${id.mode} of ${id.policy} on ${id.set} in experiment "${id.experiment}" was started`,
    );
  return { ...id, status: "done", result, error: null };
}

async function start({ db, client }: Context, request: EvaluationRequest): Promise<EvaluationId> {
  const { scope, settings, policy, set } = await planEvaluation(db, request);
  const { experiment, mode, samples, sampling, grading } = request;
  const id = { experiment, policy: policy.id, set: set.name, mode };
  await client.workflow.start<typeof evaluatePolicy>("evaluatePolicy", {
    workflowId: workflowId(id),
    taskQueue: QUEUES.orchestrate,
    workflowIdConflictPolicy: "USE_EXISTING",
    ...describeEvaluation({ set, mode, policy, samples }, "asked for"),
    typedSearchAttributes: searchAttributes(attributesOf(scope, "evaluation", policy)),
    args: [
      {
        scope,
        set,
        mode,
        policy,
        samples,
        sampling,
        level: settings.synthesis.startLevel,
        settings,
        grading,
      },
    ],
  });
  return id;
}
