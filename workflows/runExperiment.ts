/** The outer loop: an entity per experiment, one runIteration after the other, continue-as-new per iteration (docs/method.md §1). */
import {
  CancellationScope,
  ContinueAsNew,
  continueAsNew,
  executeChild,
  isCancellation,
  setCurrentDetails,
} from "@temporalio/workflow";
import type { EnvironmentRef, TaskSetRef, TaskSetSpec } from "../activities/types.ts";
import {
  type ExperimentSettings,
  evaluationGrading,
  GREEDY,
  settingsAt,
  type TaskSetSettings,
  VALIDATION_SET,
} from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Scope } from "../core/scope.ts";
import { records, sandboxes, trainer, withSummary } from "./config.ts";
import { evaluatePolicy } from "./evaluatePolicy.ts";
import { experimentId, tryId } from "./ids.ts";
import { prepareTaskSet } from "./prepareTaskSet.ts";
import { runIteration } from "./runIteration.ts";
import { mapWindow } from "./window.ts";

export interface RunExperimentInput {
  readonly name: string;
  readonly settings: ExperimentSettings;
  readonly carried?: ExperimentState;
}

export interface ExperimentState {
  /** Iteration to run next, 1-based. */
  readonly next: number;
  readonly policy: PolicyRef;
  readonly environments: readonly EnvironmentRef[];
  readonly validation: TaskSetRef;
  readonly sets: readonly TaskSetRef[];
  /** Keys of every candidate used so far. */
  readonly used: readonly string[];
}

export async function runExperiment(input: RunExperimentInput): Promise<PolicyRef> {
  const { name, settings } = input;
  try {
    const state = input.carried ?? (await prepare(input));
    if (state.next > settings.iterations) {
      await records.recordExperiment({ experiment: name, status: "done", policy: state.policy });
      return state.policy;
    }
    const scope: Scope = { experiment: name, iteration: state.next, try: 1 };
    setCurrentDetails(`iteration ${state.next} of ${settings.iterations}, from ${state.policy.id}`);
    const { policy, keys } = await executeChild(runIteration, {
      workflowId: tryId(scope),
      args: [
        {
          scope,
          settings: settingsAt(settings, state.next),
          environments: state.environments,
          policy: state.policy,
          validation: state.validation,
          exclude: state.used,
        },
      ],
      staticSummary: `iteration ${state.next} of ${settings.iterations}`,
    });
    await evaluate(scope, settings, policy, state.sets);
    return await continueAsNew<typeof runExperiment>({
      name,
      settings,
      carried: { ...state, next: state.next + 1, policy, used: [...state.used, ...keys] },
    });
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    await CancellationScope.nonCancellable(() =>
      records.recordExperiment({
        experiment: name,
        status: isCancellation(error) ? "stopped" : "failed",
        error: rootCause(error),
      }),
    );
    throw error;
  }
}

function rootCause(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
}

/** Environments, start policy, fixed task sets, and the evaluation of the untrained policy: iteration 0. */
async function prepare({ name, settings }: RunExperimentInput): Promise<ExperimentState> {
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
    sandboxes.prepareEnvironment.executeWithOptions(withSummary("sandbox", `prepare ${environment}`), [
      { name: environment, repeats: settings.synthesis.stabilityRuns },
    ]),
  );
  const byName = new Map(environments.map((environment) => [environment.name, environment]));
  const pick = (wanted: readonly string[]) => wanted.map((environment) => byName.get(environment)!);

  await records.recordExperiment({ experiment: name, status: "running", phase: "start policy" });
  const policy = await trainer.startPolicy.executeWithOptions(withSummary("gpu", "start policy"), [
    { seed: settings.evaluation.seed, kind: settings.policy.kind },
  ]);
  await records.publish.executeWithOptions(withSummary("record", `publish ${policy.id}`), [
    { policy, policyServer: settings.policy },
  ]);

  await records.recordExperiment({ experiment: name, status: "running", phase: "task sets" });
  const { synthesis } = settings;
  const sets: TaskSetRef[] = [];
  for (const [setName, set] of Object.entries(setSettings)) {
    const spec: TaskSetSpec = {
      environments: pick(set.environments),
      functions: set.functions,
      tasks: set.tasks,
      seed: settings.evaluation.seed,
      mix: synthesis.mix,
      heldOutShare: synthesis.heldOutShare,
      stabilityRuns: synthesis.stabilityRuns,
      perFunctionCap: synthesis.perFunctionCap,
      level: synthesis.startLevel,
    };
    sets.push(
      await executeChild(prepareTaskSet, {
        workflowId: `${experimentId(name)}/set/${setName}`,
        args: [{ name: setName, spec, concurrency: settings.concurrency.calibrations }],
        staticSummary: `${set.tasks} tasks for ${setName}`,
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
  await evaluate({ experiment: name, iteration: 0, try: 1 }, settings, policy, measured);
  return {
    next: 1,
    policy,
    environments: pick(settings.environments.train),
    validation,
    sets: measured,
    used: sets.flatMap((set) => set.keys),
  };
}

async function evaluate(
  scope: Scope,
  settings: ExperimentSettings,
  policy: PolicyRef,
  sets: readonly TaskSetRef[],
): Promise<void> {
  const { evaluation } = settings;
  for (const set of sets) {
    const modes = [
      { mode: "sampled", samples: evaluation.sets[set.name]!.samplesPerTask, sampling: evaluation.sampling },
      ...(evaluation.greedy ? [{ mode: "greedy", samples: 1, sampling: GREEDY }] : []),
    ];
    for (const { mode, samples, sampling } of modes) {
      await executeChild(evaluatePolicy, {
        workflowId: `eval/${policy.id}/${set.name}/${mode}/${tryId(scope)}`,
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
        staticSummary: `iteration ${scope.iteration}: ${policy.id} on ${set.name}, ${mode}`,
      });
    }
  }
}
