/** The outer loop: an entity per experiment, one runIteration after the other, continue-as-new per iteration (docs/method.md §1). */

import {
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  continueAsNew,
  executeChild,
  isCancellation,
  startChild,
} from "@temporalio/workflow";
import type { EnvironmentRef, TaskSetRef, TaskSetSpec } from "../activities/types.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { shortKey } from "../core/candidates.ts";
import { describeEvaluation, describeIteration, describeTaskSet } from "../core/descriptions.ts";
import { passAt1Line } from "../core/details.ts";
import {
  type ExperimentSettings,
  evaluationGrading,
  GREEDY,
  type TaskSetSettings,
  VALIDATION_SET,
} from "../core/experiment.ts";
import { evaluationId, experimentId, tryId } from "../core/ids.ts";
import { isEngineKind, type PolicyRef } from "../core/policy.ts";
import type { Scope } from "../core/scope.ts";
import { sole } from "../core/search-attributes.ts";
import { repeatableMix } from "../core/synthesis.ts";
import type { StatementLevel } from "../core/task.ts";
import { attributesOf, searchAttributes } from "./attributes.ts";
import type { AdmittedTask } from "./calibrateTask.ts";
import { records, sandboxes } from "./config.ts";
import { evaluatePolicy } from "./evaluatePolicy.ts";
import { named, rootCause } from "./failing.ts";
import { serve, trainerOf } from "./policies.ts";
import { prepareTaskSet } from "./prepareTaskSet.ts";
import { type RunIterationInput, runIteration } from "./runIteration.ts";
import { Steering, type SteeringState } from "./steering.ts";
import { mapWindow } from "./window.ts";

export interface RunExperimentInput {
  readonly name: string;
  readonly settings: ExperimentSettings;
  /** Iteration to end after, although more are wanted: a replay runs one alone. */
  readonly lastIteration?: number;
  readonly carried?: ExperimentState;
  readonly steering?: SteeringState;
}

export interface ExperimentState {
  /** Iteration to run next, 1-based. */
  readonly next: number;
  readonly policy: PolicyRef;
  readonly environments: readonly EnvironmentRef[];
  readonly validation: TaskSetRef;
  readonly sets: readonly TaskSetRef[];
  /** Short keys of every candidate used so far. */
  readonly used: ArtifactRef;
}

export async function runExperiment(input: RunExperimentInput): Promise<PolicyRef> {
  const { name, settings } = input;
  const steering = new Steering(name, settings, input.steering);
  try {
    return await steering.whileWatching(() => advance(input, steering));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const status = isCancellation(error) ? "stopped" : "failed";
    const reason = rootCause(error);
    steering.ended(status, null, reason);
    await CancellationScope.nonCancellable(() =>
      records.recordExperiment({ experiment: name, status, error: reason }),
    );
    throw named(error);
  }
}

/** One iteration, then the same again in a new run; or the end. */
async function advance(input: RunExperimentInput, steering: Steering): Promise<PolicyRef> {
  const { name, lastIteration } = input;
  const state = input.carried ?? (await prepare(input, steering));
  const end = async (status: "done" | "stopped", policy: PolicyRef, error?: string): Promise<PolicyRef> => {
    steering.ended(status, policy.id, error ?? null);
    await records.recordExperiment({
      experiment: name,
      status,
      policy,
      ...(error === undefined ? {} : { error }),
    });
    await condition(allHandlersFinished);
    return policy;
  };
  if (steering.stopping) return end("stopped", state.policy);
  if (state.next > steering.settingsAt(state.next).iterations) return end("done", state.policy);
  if (lastIteration !== undefined && state.next > lastIteration)
    return end(
      "stopped",
      state.policy,
      `ended after the replay of iteration ${lastIteration}; later iterations wait to be run again (tadpole run, or tadpole replay with --continue)`,
    );
  const { scope, policy, keys } = await iterate(input, state, steering);
  if (steering.stopping) return end("stopped", policy);
  steering.enter({ phase: "evaluation", iteration: state.next, try: scope.try, policy: policy.id });
  await evaluate(
    scope,
    steering.settingsAt(state.next),
    policy,
    state.sets,
    steering,
    () => steering.stopping || steering.takeSkip(),
  );
  const used = await records.noteUsed({ experiment: name, before: state.used, keys });
  await condition(allHandlersFinished);
  return await continueAsNew<typeof runExperiment>({
    name,
    settings: input.settings,
    ...(lastIteration === undefined ? {} : { lastIteration }),
    steering: steering.carried,
    carried: { ...state, next: state.next + 1, policy, used },
  });
}

/** What the next iteration comes to: as recorded if it is finished, else its unfinished try as it was pinned, else a new one. */
async function iterate(
  { name }: RunExperimentInput,
  state: ExperimentState,
  steering: Steering,
): Promise<{ scope: Scope; policy: PolicyRef; keys: readonly string[] }> {
  const iteration = state.next;
  const found = await records.findIteration({ experiment: name, iteration });
  const current = found?.stale === true ? null : found;
  const scope: Scope = {
    experiment: name,
    iteration,
    try: found === null ? 1 : found.try + (found.stale ? 1 : 0),
  };
  if (current?.finished != null) return { scope, ...current.finished };
  const settings = steering.pin(iteration);
  const isFrozen = settings.synthesis.pool === "frozen" && iteration > 1;
  const pool = isFrozen ? await frozenPool(name, settings) : null;
  const pinned: RunIterationInput = {
    scope,
    settings,
    environments: state.environments,
    policy: state.policy,
    validation: state.validation,
    exclude: state.used,
    ...(pool === null ? {} : { pool }),
    ...(scope.try === 1 ? {} : { reuse: { from: null } }),
  };
  const input = (current?.pinned as RunIterationInput | undefined) ?? pinned;
  const workflowId = tryId(scope);
  const running = await startChild(runIteration, {
    workflowId,
    args: [input],
    ...describeIteration(scope, input.settings, input.policy.id),
    typedSearchAttributes: searchAttributes(attributesOf(scope, "pool", input.policy)),
  });
  steering.enter({ phase: "pool", iteration, try: scope.try, policy: input.policy.id }, workflowId);
  return { scope, ...(await running.result()) };
}

/** The first iteration's tasks. Its probes were of another policy: they are no groups of this one. */
async function frozenPool(
  experiment: string,
  { synthesis }: ExperimentSettings,
): Promise<readonly AdmittedTask[]> {
  const tasks = await records.findPool({ experiment, iteration: 1 });
  return tasks.map(({ taskId, environment, level, passRate }) => ({
    taskId,
    environment,
    level: (level ?? synthesis.startLevel) as StatementLevel,
    probeGroup: null,
    passRate,
  }));
}

/** Environments, start policy, fixed task sets, and the evaluation of the untrained policy: iteration 0. */
async function prepare({ name, settings }: RunExperimentInput, steering: Steering): Promise<ExperimentState> {
  await records.recordExperiment({ experiment: name, status: "running", phase: "environments" });
  const setSettings: Record<string, TaskSetSettings> = {
    ...settings.evaluation.sets,
    [VALIDATION_SET]: settings.selection.set,
  };
  const names = [
    ...new Set([
      ...settings.environments.train,
      ...Object.values(setSettings).flatMap((set) => set.environments),
    ]),
  ].sort();
  const environments = await mapWindow(names, settings.concurrency.calibrations, (environment) =>
    sandboxes.prepareEnvironment({ name: environment, repeats: settings.synthesis.stabilityRuns }),
  );
  const byName = new Map(environments.map((environment) => [environment.name, environment]));
  const pick = (wanted: readonly string[]) => wanted.map((environment) => byName.get(environment)!);

  await records.recordExperiment({ experiment: name, status: "running", phase: "start policy" });
  const { kind, passRates, model } = settings.policy;
  const policy = await trainerOf(settings).startPolicy({
    seed: settings.evaluation.seed,
    kind,
    // Not there in what was pinned before stand-ins were.
    ...(passRates == null ? {} : { passRates }),
    ...(isEngineKind(kind) && model !== null ? { model } : {}),
  });
  await serve(policy, settings);

  await records.recordExperiment({ experiment: name, status: "running", phase: "task sets" });
  const { synthesis } = settings;
  const sets: TaskSetRef[] = [];
  for (const [setName, set] of Object.entries(setSettings)) {
    const spec: TaskSetSpec = {
      environments: pick(set.environments),
      functions: set.functions,
      tasks: set.tasks,
      seed: settings.evaluation.seed,
      mix: repeatableMix(synthesis.mix),
      heldOutShare: synthesis.heldOutShare,
      stabilityRuns: synthesis.stabilityRuns,
      perFunctionCap: synthesis.perFunctionCap,
      level: synthesis.startLevel,
    };
    sets.push(
      await executeChild(prepareTaskSet, {
        workflowId: `${experimentId(name)}/set/${setName}`,
        args: [{ name: setName, spec, concurrency: settings.concurrency.calibrations }],
        ...describeTaskSet(setName, spec),
        typedSearchAttributes: searchAttributes({
          experiment: name,
          iteration: 0,
          phase: "preparation",
          environment: sole(set.environments),
        }),
      }),
    );
  }
  const validation = sets.find((set) => set.name === VALIDATION_SET)!;
  const measured = sets.filter((set) => set !== validation);
  await records.recordExperiment({
    experiment: name,
    status: "running",
    phase: "evaluation of the start policy",
  });
  await evaluate({ experiment: name, iteration: 0, try: 1 }, settings, policy, measured, steering);
  return {
    next: 1,
    policy,
    environments: pick(settings.environments.train),
    validation,
    sets: measured,
    used: await records.noteUsed({
      experiment: name,
      before: null,
      keys: sets.flatMap((set) => set.keys.map(shortKey)),
    }),
  };
}

async function evaluate(
  scope: Scope,
  settings: ExperimentSettings,
  policy: PolicyRef,
  sets: readonly TaskSetRef[],
  steering: Steering,
  cutShort: () => boolean = () => false,
): Promise<void> {
  const { evaluation } = settings;
  for (const set of sets) {
    const modes = [
      { mode: "sampled", samples: evaluation.sets[set.name]!.samplesPerTask, sampling: evaluation.sampling },
      ...(evaluation.greedy ? [{ mode: "greedy", samples: 1, sampling: GREEDY }] : []),
    ];
    for (const { mode, samples, sampling } of modes) {
      if (cutShort()) return;
      const { passAt1, low, high } = await executeChild(evaluatePolicy, {
        workflowId: evaluationId({ policy: policy.id, set: set.name, mode }, tryId(scope)),
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
            grading: evaluationGrading(settings, evaluation.grading),
          },
        ],
        ...describeEvaluation(
          { set, mode, policy, samples },
          scope.iteration === 0 ? "untrained" : `after iteration ${scope.iteration}`,
        ),
        typedSearchAttributes: searchAttributes({
          ...attributesOf(scope, "evaluation", policy),
          environment: sole(evaluation.sets[set.name]!.environments),
        }),
      });
      steering.measured(passAt1Line({ set: set.name, mode, policy: policy.id, passAt1, low, high }));
    }
  }
}
