/**
 * Steering a running experiment: every face pauses, resumes, stops, skips and amends through these. A request carries an id; the same id again
 * gives the state and changes nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  isGrpcDeadlineError,
  isGrpcServiceError,
  ServiceError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from "@temporalio/client";
import { ApplicationFailure, WorkflowNotFoundError } from "@temporalio/common";
import { experimentId } from "../../core/ids.ts";
import {
  type Amendment,
  type AmendRequest,
  amendmentProblem,
  type ExperimentSteering,
  type Hold,
  type PauseRequest,
  type Request,
  type SkipRequest,
} from "../../core/steering.ts";
import {
  type Db,
  type ExperimentRow,
  getExperiment,
  releaseExperiment,
  showExperiment,
} from "../../services/store/index.ts";
import {
  amendUpdate,
  pauseUpdate,
  resumeUpdate,
  skipUpdate,
  stateQuery,
  stopUpdate,
} from "../../workflows/messages.ts";
import { isRunning } from "./experiments.ts";

/** `ended`: it does not run any more; `refused`: the experiment says why not; `unreachable`: no orchestrator answers. */
export type SteeringErrorKind = "ended" | "refused" | "unreachable";

export class SteeringError extends Error {
  readonly kind: SteeringErrorKind;
  constructor(kind: SteeringErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SteeringError";
    this.kind = kind;
  }
}

interface SteeringContext {
  readonly db: Db;
  readonly client: Client;
}

/** An orchestrator answers within a second; one that is started again by its supervisor within this. */
const ANSWER_MS = 30_000;
const BETWEEN_RUNS_MS = 200;

/** Of an experiment that has ended: what the record says. Throws StoreError `missing`, SteeringError `unreachable`. */
export async function steeringState(session: SteeringContext, name: string): Promise<ExperimentSteering> {
  const experiment = await getExperiment(session.db, name);
  // A closed run would still answer, by its last own words: those of a terminated one are wrong.
  if (!(await isRunning(session, name))) return endedState(session.db, experiment);
  const handle = session.client.workflow.getHandle(experimentId(name));
  return answered(session, name, () => handle.query(stateQuery));
}

/** Holds the experiment: nothing new begins, and what can stop does. Throws as `resumeExperiment` does. */
export function pauseExperiment(
  session: SteeringContext,
  name: string,
  request: PauseRequest,
): Promise<ExperimentSteering> {
  return update(session, name, pauseUpdate, request);
}

/**
 * Ends the hold, whatever its reason. Throws StoreError `missing` for an unknown experiment, SteeringError `ended`, `refused` or
 * `unreachable`.
 */
export async function resumeExperiment(
  session: SteeringContext,
  name: string,
  request: Request,
): Promise<ExperimentSteering> {
  try {
    return await update(session, name, resumeUpdate, request);
  } catch (error) {
    if (!(error instanceof SteeringError) || error.kind !== "ended") throw error;
    // An evaluation of an experiment that has ended may be held too, and nobody but the record can let it go on.
    const ended = await releaseExperiment(session.db, { experiment: name, request: request.request });
    if (ended === null) throw error;
    return endedState(session.db, await getExperiment(session.db, name));
  }
}

/** Ends the phase early, selects the best checkpoint so far and finishes as `stopped`. Throws as `resumeExperiment` does. */
export function stopExperiment(
  session: SteeringContext,
  name: string,
  request: Request,
): Promise<ExperimentSteering> {
  return update(session, name, stopUpdate, request);
}

/** Ends the current phase with what it has; refused where another one is meant. Throws as `resumeExperiment` does. */
export function skipPhase(
  session: SteeringContext,
  name: string,
  request: SkipRequest,
): Promise<ExperimentSteering> {
  return update(session, name, skipUpdate, request);
}

/** Changes one amendable setting (docs/steering.md says from when on), if all settings fit with it. Throws as `resumeExperiment` does. */
export async function amendExperiment(
  session: SteeringContext,
  name: string,
  request: AmendRequest,
): Promise<ExperimentSteering> {
  await getExperiment(session.db, name);
  // What is wrong whatever the experiment does needs no answer of it.
  const problem = amendmentProblem(request.path, request.value);
  if (problem !== null) throw new SteeringError("refused", problem);
  return update(session, name, amendUpdate, request);
}

async function update<R extends Request>(
  session: SteeringContext,
  name: string,
  definition: typeof pauseUpdate | typeof resumeUpdate | typeof amendUpdate,
  request: R,
): Promise<ExperimentSteering> {
  await getExperiment(session.db, name);
  const handle = session.client.workflow.getHandle(experimentId(name));
  return answered(session, name, () =>
    handle.executeUpdate<ExperimentSteering, [R]>(definition.name, {
      updateId: request.request,
      args: [request],
    }),
  );
}

/**
 * Asks until there is an answer. A run that continues as new closes under a request; the next run takes the same request again, and
 * knows its id if the one before had accepted it.
 */
async function answered<T>(session: SteeringContext, name: string, ask: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + ANSWER_MS;
  for (;;) {
    try {
      return await session.client.withDeadline(deadline, ask);
    } catch (error) {
      if (isUnanswered(error) || Date.now() > deadline) {
        throw new SteeringError(
          "unreachable",
          `experiment "${name}" did not answer within ${ANSWER_MS / 1000} s: is the orchestrator up (tadpole status)? The request may still take effect; the same --request ID makes it once`,
          { cause: error },
        );
      }
      if (error instanceof WorkflowUpdateFailedError && !closedUnderIt(error)) {
        throw new SteeringError("refused", error.cause?.message ?? error.message, { cause: error });
      }
      if (!(error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError))
        throw error;
      if (!(await isRunning(session, name))) {
        throw new SteeringError(
          "ended",
          `experiment "${name}" does not run any more (tadpole show ${name}); tadpole run takes it up again unless it is done`,
          { cause: error },
        );
      }
      await sleep(BETWEEN_RUNS_MS);
    }
  }
}

/** gRPC: RESOURCE_EXHAUSTED, FAILED_PRECONDITION (no worker polls), UNAVAILABLE. */
const NO_ANSWER_CODES = new Set([8, 9, 14]);

/** No worker polls, none finishes in time, or the server is away. */
function isUnanswered(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isGrpcDeadlineError(error)) return true;
  return (
    error instanceof ServiceError && isGrpcServiceError(error.cause) && NO_ANSWER_CODES.has(error.cause.code)
  );
}

/** The server's own failure of an update that a run had accepted and did not finish before it closed. */
function closedUnderIt(error: WorkflowUpdateFailedError): boolean {
  return error.cause instanceof ApplicationFailure && error.cause.type === "AcceptedUpdateCompletedWorkflow";
}

async function endedState(db: Db, experiment: ExperimentRow): Promise<ExperimentSteering> {
  const { iterations, policy, error } = await showExperiment(db, experiment.name);
  const last = iterations.findLast(({ stale }) => !stale);
  return {
    status: "ended",
    hold: experiment.hold as Hold | null,
    phase: experiment.status,
    iteration: last?.iteration ?? 0,
    try: last?.try ?? 1,
    policy: policy?.id ?? null,
    amendments: experiment.amendments as readonly Amendment[],
    error,
  };
}
