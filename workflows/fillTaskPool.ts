/** Fills an iteration's pool: a sliding window of calibrateTask until the target is admitted or the budget is spent. */
import {
  CancellationScope,
  continueAsNew,
  executeChild,
  isCancellation,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { CandidateRef, EnvironmentRef, SynthesiseInput } from "../activities/types.ts";
import type { ArtifactRef } from "../core/artifact.ts";
import { shortKey } from "../core/candidates.ts";
import { describeCandidate } from "../core/descriptions.ts";
import { type PoolStanding, poolDetails, withPasses } from "../core/details.ts";
import { countReason } from "../core/empty-pool.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { poolMayGoOn } from "../core/groups.ts";
import { tryId } from "../core/ids.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import { attributesOf, noteAttributes, searchAttributes } from "./attributes.ts";
import { type AdmittedTask, type CalibrateTaskOutput, calibrateTask } from "./calibrateTask.ts";
import { CandidateStream, type CandidateStreamState } from "./candidates.ts";
import { CHILD_EVENTS, historyIsLong } from "./config.ts";
import { finishEarlySignal } from "./messages.ts";
import { slidingWindow } from "./window.ts";

export interface FillTaskPoolInput {
  readonly scope: Scope;
  readonly settings: ExperimentSettings;
  readonly environments: readonly EnvironmentRef[];
  readonly policy: PolicyRef;
  /** Short keys of the candidates of earlier iterations and of the fixed sets: every pool is new. */
  readonly exclude: ArtifactRef | null;
  readonly reuse?: Reuse | null;
  /** Carried over when the history grows long. */
  readonly carried?: PoolState;
}

interface PoolState extends Omit<TaskPool, "dropped"> {
  /** Without those that the stream left out. */
  readonly dropped: number;
  /** Tasks that are enough. */
  readonly wanted: number;
  readonly stream: CandidateStreamState;
  readonly shown: Shown;
}

type Source = Omit<SynthesiseInput, "from" | "count">;

/** What the details say beside the counts. */
type Shown = Pick<PoolStanding, "passes" | "lastLeftOut" | "lastFailure">;

const NOTHING_SHOWN: Shown = { passes: [], lastLeftOut: null, lastFailure: null };

export interface TaskPool {
  readonly admitted: readonly AdmittedTask[];
  /** Tasks that nobody solves without a hint: climbed too, and no part of what the pool is wanted for; absent = none. */
  readonly hinted?: readonly AdmittedTask[];
  /** Short keys of the candidates that were admitted, hinted ones and what they became among them. */
  readonly keys: readonly string[];
  readonly candidates: number;
  readonly dropped: number;
  readonly refined: number;
  /** Of `dropped`, those that were never tried, by why; absent of a pool from before it was counted. */
  readonly leftOut?: Readonly<Record<string, number>>;
  /** Of the candidates that were tried, those that became a task; absent before it was counted. */
  readonly valid?: number;
  /** Why candidates that were tried were left out, a gate or the filter's reason; absent likewise. */
  readonly reasons?: Readonly<Record<string, number>>;
  /** Index of the last candidate whose result was read; -1 when there was none. */
  readonly lastCandidate: number;
  /** Of the probes that were read; absent before there was a budget of them. */
  readonly rollouts?: number;
}

export async function fillTaskPool(input: FillTaskPoolInput): Promise<TaskPool> {
  const { scope, settings } = input;
  const { synthesis } = settings;
  const source = sourceOf(input);
  const stream = new CandidateStream(source, synthesis, input.carried?.stream);
  const admitted: AdmittedTask[] = [...(input.carried?.admitted ?? [])];
  const hinted: AdmittedTask[] = [...(input.carried?.hinted ?? [])];
  const keys: string[] = [...(input.carried?.keys ?? [])];
  let { candidates, dropped, refined, lastCandidate, wanted } = input.carried ?? {
    candidates: 0,
    dropped: 0,
    refined: 0,
    lastCandidate: -1,
    wanted: synthesis.poolTasks,
  };
  let rollouts = input.carried?.rollouts ?? 0;
  // Not from the middle on: part of a count says nothing.
  const counted = input.carried === undefined || input.carried.reasons !== undefined;
  let valid = input.carried?.valid ?? 0;
  const reasons: Record<string, number> = { ...input.carried?.reasons };
  let shown = input.carried?.shown ?? NOTHING_SHOWN;
  const since = Date.now();
  const before = admitted.length;
  const show = (): void => {
    const done = admitted.length;
    const pace = { since, now: Date.now(), done: done - before, left: wanted - done };
    const { maxCandidates } = synthesis;
    setCurrentDetails(
      poolDetails({
        ...{ admitted: done, wanted, candidates, maxCandidates, dropped, refined, ...shown, pace },
        untried: stream.leftOut(lastCandidate),
        hinted: hinted.length,
      }),
    );
  };
  show();
  const flight = new CancellationScope();
  setHandler(finishEarlySignal, ({ stop }) => {
    // Without a task nothing can follow: a pool that is skipped too soon ends with its first.
    wanted = 1;
    if (stop || admitted.length > 0) flight.cancel();
  });
  const end = await flight.run(() =>
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
          args: [
            {
              ...{ scope, candidate, policy: input.policy, settings, reuse: input.reuse ?? null },
              // What sends a candidate back to its author needs.
              ...(source.author && { source: { ...source, from: candidate.index, count: 1 } }),
            },
          ],
          ...describeCandidate(candidate, input.policy.id),
          typedSearchAttributes: searchAttributes({
            ...attributesOf(scope, "pool", input.policy),
            environment: candidate.environment.name,
          }),
        }).catch((error: unknown) => {
          if (isCancellation(error) && flight.consideredCancelled) return null;
          throw error;
        }),
      settle: (candidate, result) => {
        if (result === null) return false;
        candidates++;
        lastCandidate = candidate.index;
        if (result.refinements > 0) refined++;
        rollouts += result.rollouts ?? 0;
        const { admitted: task } = result;
        if (task !== null || result.passes !== null) valid++;
        if (task === null || [...admitted, ...hinted].some(({ taskId }) => taskId === task.taskId)) {
          dropped++;
          countReason(reasons, task === null ? (result.reason ?? "no reason given") : "task there already");
        } else {
          (task.hinted ? hinted : admitted).push(task);
          keys.push(shortKey(candidate.key));
          // A candidate that became another is used up as both.
          if (result.key !== undefined) keys.push(shortKey(result.key));
        }
        shown = noted(shown, candidate, result, settings.filter.probes);
        show();
        return admitted.length < wanted && poolMayGoOn(settings, rollouts);
      },
      cancel: () => flight.cancel(),
      cut: () => historyIsLong(settings.concurrency.calibrations * CHILD_EVENTS),
    }),
  );
  const apart = { ...(hinted.length === 0 ? {} : { hinted }), ...(counted && { valid, reasons }) };
  const pool = { admitted, ...apart, keys, candidates, dropped, refined, lastCandidate, rollouts };
  if (end === "cut" && !flight.consideredCancelled)
    return await continueAsNew<typeof fillTaskPool>({
      ...input,
      carried: { ...pool, wanted, stream: stream.carried, shown },
    });
  noteAttributes({ outcome: admitted.length >= synthesis.poolTasks ? "finished" : "cut-short" });
  // With enough tasks the pool ends at the last candidate that was read, whatever else was already synthesised.
  const last = end === "exhausted" ? synthesis.maxCandidates : lastCandidate;
  const leftOut = stream.leftOut(last);
  return { ...pool, dropped: dropped + sum(leftOut), leftOut };
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** Settings of an iteration that began before there were authors and histories lack them. */
function sourceOf({ scope, settings, environments, exclude, reuse = null }: FillTaskPoolInput): Source {
  const { mix, heldOutShare, author, types, history, pool } = settings.synthesis as Partial<
    ExperimentSettings["synthesis"]
  > &
    Pick<ExperimentSettings["synthesis"], "mix" | "heldOutShare">;
  const { failuresShown } = settings.filter as Partial<ExperimentSettings["filter"]>;
  const writes = (mix.llm ?? 0) > 0;
  const commits = (mix.history ?? 0) > 0;
  return {
    seed: settings.seed,
    randomKeys: [scope.iteration, "pool"],
    environments,
    choice: pool === "imported" ? "imported" : "random",
    functions: "train",
    mix,
    heldOutShare,
    exclude,
    ...((writes || commits) && types && { types }),
    ...(commits && history && { history }),
    ...(writes && author && { author }),
    ...(writes && failuresShown && { failuresShown }),
    scope,
    reuse,
  };
}

function noted(shown: Shown, candidate: CandidateRef, result: CalibrateTaskOutput, probes: number): Shown {
  const { admitted, reason, passes, failure } = result;
  const { index, generator, environment } = candidate;
  const leftOut = `candidate ${index}, a ${generator} in ${environment.name}: ${reason ?? "no reason given"}`;
  return {
    passes: passes === null ? shown.passes : withPasses(shown.passes, passes, probes),
    lastLeftOut: admitted === null ? leftOut : shown.lastLeftOut,
    lastFailure: failure ?? shown.lastFailure,
  };
}
