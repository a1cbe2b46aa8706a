/** One iteration: pool → climb → select. Its input is one immutable record in which everything is pinned (docs/method.md §1). */
import {
  ApplicationFailure,
  CancellationScope,
  type ChildWorkflowHandle,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  setCurrentDetails,
  setHandler,
  startChild,
  type Workflow,
  workflowInfo,
} from "@temporalio/workflow";
import type { EnvironmentRef, TaskSetRef } from "../activities/types.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { describeClimb, describeEvaluation, describePool } from "../core/descriptions.ts";
import { iterationDetails, passAt1Line } from "../core/details.ts";
import { emptyPool } from "../core/empty-pool.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { tryId } from "../core/ids.ts";
import { isAsync } from "../core/pace-settings.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { type Phase, sole } from "../core/search-attributes.ts";
import { attributesOf, noteAttributes, searchAttributes } from "./attributes.ts";
import type { AdmittedTask } from "./calibrateTask.ts";
import { climb } from "./climb.ts";
import { climbAsync } from "./climbAsync.ts";
import type { Checkpoint } from "./climbing.ts";
import { records } from "./config.ts";
import { evaluatePolicy } from "./evaluatePolicy.ts";
import { named, rootCause } from "./failing.ts";
import { fillTaskPool, type TaskPool } from "./fillTaskPool.ts";
import { type FinishEarly, finishEarlySignal, phaseSignal } from "./messages.ts";
import { serveAnew } from "./policies.ts";

export interface RunIterationInput {
  readonly scope: Scope;
  /** As resolved for this iteration. */
  readonly settings: ExperimentSettings;
  readonly environments: readonly EnvironmentRef[];
  readonly policy: PolicyRef;
  readonly validation: TaskSetRef;
  readonly exclude: ArtifactRef | null;
  /** Tasks to climb on; absent = a pool is filled. */
  readonly pool?: readonly AdmittedTask[];
  /** Of a replay: what it may take over from the tries before it. */
  readonly reuse?: Reuse | null;
}

export interface RunIterationOutput {
  readonly policy: PolicyRef;
  /** Keys of the pool's candidates, which later pools leave out. */
  readonly keys: readonly string[];
}

export async function runIteration(input: RunIterationInput): Promise<RunIterationOutput> {
  try {
    return await iterate(input);
  } catch (error) {
    if (!isCancellation(error)) await recordFailure(input, rootCause(error));
    throw named(error);
  }
}

/** So that no list shows it at work. Run again it goes on from what is on record, its pool included. */
async function recordFailure(input: RunIterationInput, error: string): Promise<void> {
  const { scope, policy } = input;
  const failed = {
    scope,
    status: "failed",
    startPolicy: policy.id,
    endPolicy: null,
    error,
    pinned: input,
  } as const;
  await CancellationScope.nonCancellable(() => records.recordIteration(failed))
    // What it failed by must be told, whatever becomes of its record.
    .catch(() => undefined);
}

async function iterate(input: RunIterationInput): Promise<RunIterationOutput> {
  const { scope, settings, policy } = input;
  const id = tryId(scope);
  let pool: TaskPool | null = null;
  const done: string[] = [];
  /** Where it is, from the moment on in which the phase before was over. */
  let current: Phase = "pool";
  /** Tells it wherever it is asked; the experiment may be gone, its iteration then ends with it. */
  const enter = async (phase: Phase): Promise<void> => {
    show(phase);
    noteAttributes({ phase });
    const parent = workflowInfo().parent;
    if (parent !== undefined)
      await getExternalWorkflowHandle(parent.workflowId)
        .signal(phaseSignal, phase)
        .catch(() => undefined);
  };
  const show = (phase: string): void =>
    setCurrentDetails(iterationDetails({ phase, policy: policy.id, done }));
  const record = (status: "pool" | "climb" | "select" | "finished", endPolicy: string | null) =>
    records.recordIteration({
      scope,
      status,
      startPolicy: policy.id,
      endPolicy,
      pool:
        pool === null
          ? null
          : {
              admitted: pool.admitted.length,
              dropped: pool.dropped,
              refined: pool.refined,
              candidates: pool.candidates,
              ...(pool.hinted === undefined ? {} : { hinted: pool.hinted.length }),
            },
      pinned: input,
      ...(pool === null ? {} : { keys: pool.keys, lastCandidate: pool.lastCandidate }),
    });
  /** The phase that can be cut short; null in the selection. */
  let phase: ChildWorkflowHandle<Workflow> | null = null;
  let stopping = false;
  /** How the phase that was entered last is to come to an end early, where it is. */
  let early: FinishEarly | null = null;
  // One that ends at this moment needs no telling.
  const tell = async () => {
    if (early !== null) await phase?.signal(finishEarlySignal, early).catch(() => undefined);
  };
  setHandler(finishEarlySignal, async (how) => {
    // The experiment hears of a phase only after it has begun.
    if (how.phase !== undefined && how.phase !== current) return;
    stopping ||= how.stop;
    early = how;
    await tell();
  });
  show("pool");
  await record("pool", null);
  if (input.pool === undefined) {
    await serveAnew(policy, settings);
    const filling = await startFilling(input, `${id}/pool`);
    phase = filling;
    await tell();
    pool = await filling.result();
    phase = null;
    done.push(
      `pool: ${pool.admitted.length} tasks from ${pool.candidates} candidates, ${pool.dropped} left out, ${pool.refined} with another statement`,
    );
  } else {
    pool = givenPool(input.pool);
    done.push(`pool: ${pool.admitted.length} tasks, those of an earlier iteration`);
  }
  if (stopping) {
    await record("finished", policy.id);
    noteAttributes({ outcome: "cut-short" });
    show("stopped");
    return { policy, keys: pool.keys };
  }
  if (pool.admitted.length === 0) {
    throw ApplicationFailure.nonRetryable(emptyPool(pool, scope, policy.id), "BadInput");
  }
  early = null;
  current = "climb";
  await record("climb", null);
  await enter("climb");
  let checkpoints: readonly Checkpoint[] = [];
  // Cut short before it began, it leaves the policy as it was.
  if (early === null) {
    const climbing = await startChild(isAsync(settings) ? climbAsync : climb, {
      workflowId: `${id}/climb`,
      args: [
        {
          scope,
          settings,
          policy,
          tasks: [...pool.admitted, ...(pool.hinted ?? [])],
          spent: pool.rollouts ?? 0,
          reuse: input.reuse ?? null,
        },
      ],
      ...describeClimb(settings, pool.admitted.length, policy.id),
      typedSearchAttributes: searchAttributes(attributesOf(scope, "climb", policy)),
    });
    phase = climbing;
    await tell();
    checkpoints = await climbing.result();
    phase = null;
  }
  done.push(`climb: ${checkpoints.at(-1)?.update ?? 0} updates, ${checkpoints.length} checkpoints`);
  // A budget ends a climb as it is meant to end.
  const isWhole =
    (checkpoints.at(-1)?.update ?? 0) === settings.climb.updates ||
    (early === null && (settings.climb.rolloutBudget ?? null) !== null);
  // Once the pool is closed and the climb over: what was in flight then is no part of it.
  if ((settings.filter.failuresShown ?? 0) > 0) await records.noteFailures({ scope });
  early = null;
  current = "selection";
  await record("select", null);
  await enter("selection");
  const measured = (line: string) => {
    done.push(line);
    show("selection");
  };
  // A stop wants the best checkpoint too; only a skip does without measuring all.
  const best = await select(input, checkpoints, measured, () => early !== null && !early.stop);
  await record("finished", best.id);
  done.push(`selected: \`${best.id}\``);
  noteAttributes({ outcome: isWhole ? "finished" : "cut-short", policy: best.id });
  show("finished");
  return { policy: best, keys: pool.keys };
}

function startFilling(
  { scope, settings, environments, policy, exclude, reuse = null }: RunIterationInput,
  workflowId: string,
) {
  return startChild(fillTaskPool, {
    workflowId,
    args: [{ scope, settings, environments, policy, exclude, reuse }],
    ...describePool(
      settings,
      environments.map(({ name }) => name),
      policy.id,
    ),
    typedSearchAttributes: searchAttributes({
      ...attributesOf(scope, "pool", policy),
      environment: sole(environments)?.name ?? null,
    }),
  });
}

/** Nothing was drawn for it: later pools have nothing to leave out. */
const givenPool = (admitted: readonly AdmittedTask[]): TaskPool => ({
  admitted,
  keys: [],
  candidates: 0,
  dropped: 0,
  refined: 0,
  lastCandidate: -1,
  rollouts: 0,
});

/**
 * The checkpoint with the best validation pass@1; of equals the latest. A single checkpoint needs no measuring. Cut short, the best of those that were
 * measured, and where none was, the latest.
 */
async function select(
  input: RunIterationInput,
  checkpoints: readonly Checkpoint[],
  measured: (line: string) => void,
  cutShort: () => boolean,
): Promise<PolicyRef> {
  const { scope, settings } = input;
  let best = { policy: input.policy, score: -1 };
  const distinct = checkpoints.filter(
    ({ policy }, index) => checkpoints.findIndex((other) => other.policy.id === policy.id) === index,
  );
  for (const { update, policy } of distinct) {
    if (distinct.length === 1) return policy;
    if (cutShort()) return best.score < 0 ? distinct.at(-1)!.policy : best.policy;
    const evaluation = {
      set: input.validation,
      mode: `validation-${scope.iteration}-${scope.try}-${update}`,
      policy,
      samples: settings.selection.set.samplesPerTask,
    };
    const { passAt1, low, high } = await executeChild(evaluatePolicy, {
      workflowId: `${tryId(scope)}/select/${update}`,
      args: [
        {
          scope,
          ...evaluation,
          sampling: settings.evaluation.sampling,
          level: settings.synthesis.startLevel,
          settings,
          grading: settings.grading,
          reuse: input.reuse ?? null,
        },
      ],
      ...describeEvaluation(evaluation, `checkpoint of update ${update}`),
      typedSearchAttributes: searchAttributes({
        ...attributesOf(scope, "selection", policy),
        environment: sole(settings.selection.set.environments),
      }),
    });
    measured(
      passAt1Line({
        set: input.validation.name,
        mode: `update ${update}`,
        policy: policy.id,
        passAt1,
        low,
        high,
      }),
    );
    if (passAt1 >= best.score) best = { policy, score: passAt1 };
  }
  return best.policy;
}
