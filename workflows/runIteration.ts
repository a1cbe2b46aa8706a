/** One iteration: pool → climb → select. Its input is one immutable record in which everything is pinned (docs/method.md §1). */
import {
  ApplicationFailure,
  type ChildWorkflowHandle,
  executeChild,
  setHandler,
  startChild,
  type Workflow,
} from "@temporalio/workflow";
import type { EnvironmentRef, TaskSetRef } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { type Checkpoint, climb } from "./climb.ts";
import { records } from "./config.ts";
import { evaluatePolicy } from "./evaluatePolicy.ts";
import { fillTaskPool, type TaskPool } from "./fillTaskPool.ts";
import { tryId } from "./ids.ts";
import { finishEarlySignal } from "./messages.ts";

export interface RunIterationInput {
  readonly scope: Scope;
  /** As resolved for this iteration. */
  readonly settings: ExperimentSettings;
  readonly environments: readonly EnvironmentRef[];
  readonly policy: PolicyRef;
  readonly validation: TaskSetRef;
  readonly exclude: readonly string[];
  /** Of a replay: what it may take over from the tries before it. */
  readonly reuse?: Reuse | null;
}

export interface RunIterationOutput {
  readonly policy: PolicyRef;
  /** Keys of the pool's candidates, which later pools leave out. */
  readonly keys: readonly string[];
}

export async function runIteration(input: RunIterationInput): Promise<RunIterationOutput> {
  const { scope, settings, policy } = input;
  const id = tryId(scope);
  let pool: TaskPool | null = null;
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
            },
      pinned: input,
      ...(pool === null ? {} : { keys: pool.keys, lastCandidate: pool.lastCandidate }),
    });
  /** The phase that can be cut short; null in the selection. */
  let phase: ChildWorkflowHandle<Workflow> | null = null;
  let stopping = false;
  setHandler(finishEarlySignal, async (how) => {
    stopping ||= how.stop;
    // One that ends at this moment needs no telling.
    await phase?.signal(finishEarlySignal, how).catch(() => undefined);
  });
  await record("pool", null);
  const filling = await startChild(fillTaskPool, {
    workflowId: `${id}/pool`,
    args: [
      {
        scope,
        settings,
        environments: input.environments,
        policy,
        exclude: input.exclude,
        reuse: input.reuse ?? null,
      },
    ],
    staticSummary: `synthesise and calibrate ${settings.synthesis.poolTasks} tasks against ${policy.id}`,
  });
  phase = filling;
  pool = await filling.result();
  phase = null;
  if (stopping) {
    await record("finished", policy.id);
    return { policy, keys: pool.keys };
  }
  if (pool.admitted.length === 0) {
    throw ApplicationFailure.nonRetryable(
      `no task was admitted: ${pool.candidates} candidates were calibrated against ${policy.id}, ${pool.dropped} dropped. Widen filter.band, raise synthesis.maxCandidates or add environments.`,
      "BadInput",
    );
  }
  await record("climb", null);
  const climbing = await startChild(climb, {
    workflowId: `${id}/climb`,
    args: [{ scope, settings, policy, tasks: pool.admitted, reuse: input.reuse ?? null }],
    staticSummary: `${settings.climb.updates} updates of ${settings.climb.tasksPerBatch} × ${settings.climb.groupSize} rollouts`,
  });
  phase = climbing;
  const checkpoints = await climbing.result();
  phase = null;
  await record("select", null);
  const best = await select(input, checkpoints);
  await record("finished", best.id);
  return { policy: best, keys: pool.keys };
}

/** The checkpoint with the best validation pass@1; of equals the latest. A single checkpoint needs no measuring. */
async function select(input: RunIterationInput, checkpoints: readonly Checkpoint[]): Promise<PolicyRef> {
  const { scope, settings } = input;
  let best = { policy: input.policy, score: -1 };
  const distinct = checkpoints.filter(
    ({ policy }, index) => checkpoints.findIndex((other) => other.policy.id === policy.id) === index,
  );
  for (const { update, policy } of distinct) {
    if (distinct.length === 1) return policy;
    const { passAt1 } = await executeChild(evaluatePolicy, {
      workflowId: `${tryId(scope)}/select/${update}`,
      args: [
        {
          scope,
          set: input.validation,
          mode: `validation-${scope.iteration}-${scope.try}-${update}`,
          policy,
          samples: settings.selection.set.samplesPerTask,
          sampling: settings.evaluation.sampling,
          level: settings.synthesis.startLevel,
          settings,
          grading: settings.grading,
          reuse: input.reuse ?? null,
        },
      ],
      staticSummary: `validate checkpoint of update ${update}: ${policy.id}`,
    });
    if (passAt1 >= best.score) best = { policy, score: passAt1 };
  }
  return best.policy;
}
