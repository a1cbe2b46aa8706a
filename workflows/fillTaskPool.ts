/** Fills an iteration's pool: a sliding window of calibrateTask until the target is admitted or the budget is spent. */
import { CancellationScope, executeChild, isCancellation, setHandler } from "@temporalio/workflow";
import type { CandidateRef, EnvironmentRef } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { type AdmittedTask, type CalibrateTaskOutput, calibrateTask } from "./calibrateTask.ts";
import { CandidateStream } from "./candidates.ts";
import { tryId } from "./ids.ts";
import { finishEarlySignal } from "./messages.ts";
import { slidingWindow } from "./window.ts";

export interface FillTaskPoolInput {
  readonly scope: Scope;
  readonly settings: ExperimentSettings;
  readonly environments: readonly EnvironmentRef[];
  readonly policy: PolicyRef;
  /** Candidate keys of earlier iterations and of the fixed sets: every pool is new. */
  readonly exclude: readonly string[];
  readonly reuse?: Reuse | null;
}

export interface TaskPool {
  readonly admitted: readonly AdmittedTask[];
  /** Keys of the admitted candidates. */
  readonly keys: readonly string[];
  readonly candidates: number;
  readonly dropped: number;
  readonly refined: number;
  /** Index of the last candidate whose result was read; -1 when there was none. */
  readonly lastCandidate: number;
}

export async function fillTaskPool(input: FillTaskPoolInput): Promise<TaskPool> {
  const { scope, settings } = input;
  const { synthesis } = settings;
  const stream = new CandidateStream(
    {
      seed: settings.seed,
      randomKeys: [scope.iteration, "pool"],
      environments: input.environments,
      choice: "random",
      functions: "train",
      mix: synthesis.mix,
      heldOutShare: synthesis.heldOutShare,
      scope,
      reuse: input.reuse ?? null,
    },
    synthesis.maxCandidates,
    synthesis.perFunctionCap,
    { from: 0, seen: input.exclude, perFunction: {} },
  );
  const admitted: AdmittedTask[] = [];
  const keys: string[] = [];
  let candidates = 0;
  let dropped = 0;
  let refined = 0;
  let lastCandidate = -1;
  const flight = new CancellationScope();
  let wanted = synthesis.poolTasks;
  setHandler(finishEarlySignal, ({ stop }) => {
    // Without a task nothing can follow: a pool that is skipped too soon ends with its first.
    wanted = 1;
    if (stop || admitted.length > 0) flight.cancel();
  });
  await flight.run(() =>
    slidingWindow<CandidateRef, CalibrateTaskOutput | null>({
      limit: settings.concurrency.calibrations,
      next: () =>
        stream.next().catch((error: unknown) => {
          if (isCancellation(error) && flight.consideredCancelled) return null;
          throw error;
        }),
      work: (candidate) =>
        executeChild(calibrateTask, {
          workflowId: `${tryId(scope)}/task/${candidate.index}`,
          args: [{ scope, candidate, policy: input.policy, settings, reuse: input.reuse ?? null }],
          staticSummary: `${candidate.generator} in ${candidate.environment.name}: ${candidate.functions.join(", ")}`,
        }).catch((error: unknown) => {
          if (isCancellation(error) && flight.consideredCancelled) return null;
          throw error;
        }),
      settle: (candidate, result) => {
        if (result === null) return false;
        candidates++;
        lastCandidate = candidate.index;
        if (result.refinements > 0) refined++;
        if (result.admitted === null || admitted.some((task) => task.taskId === result.admitted?.taskId))
          dropped++;
        else {
          admitted.push(result.admitted);
          keys.push(candidate.key);
        }
        return admitted.length < wanted;
      },
      cancel: () => flight.cancel(),
    }),
  );
  return { admitted, keys, candidates, dropped: dropped + stream.dropped, refined, lastCandidate };
}
