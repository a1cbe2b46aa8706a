/** The asynchronous climb: groups are collected while updates are made, and none is trained on that is older than the bound (docs/async.md). */
import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import { type ClimbStanding, climbDetails, withPasses } from "../core/details.ts";
import { groupPlan } from "../core/groups.ts";
import { oldestVersion } from "../core/lag.ts";
import { Pace, type PaceDecision, type PaceState } from "../core/pace.ts";
import type { PacedGroup } from "../core/pace-groups.ts";
import { idleBefore, type TrainerTime, withUpdate } from "../core/pace-record.ts";
import { paceSettings } from "../core/pace-settings.ts";
import type { PolicyRef } from "../core/policy.ts";
import { noteAttributes } from "./attributes.ts";
import { type Checkpoint, type ClimbInput, collectClimbGroup } from "./climbing.ts";
import { ACTIVITY_EVENTS, CHILD_EVENTS, historyIsLong, records } from "./config.ts";
import { DealtTasks, type DealtTasksState } from "./dealtTasks.ts";
import { finishEarlySignal } from "./messages.ts";
import { serve, serveAnew, trainerOf } from "./policies.ts";

export interface ClimbAsyncInput extends ClimbInput {
  /** Carried over when the history grows long. */
  readonly carried?: ClimbAsyncState;
}

type Shown = Pick<ClimbStanding, "passes" | "lastUpdate" | "lastFailure">;
const NOTHING_SHOWN: Shown = { passes: [], lastUpdate: null, lastFailure: null };

interface ClimbAsyncState {
  readonly pace: PaceState;
  readonly dealt: DealtTasksState;
  /** Ids of all versions, oldest first. */
  readonly versions: readonly string[];
  /** The last of them: what is served. */
  readonly policy: PolicyRef;
  readonly checkpoints: readonly Checkpoint[];
  readonly last: Checkpoint | null;
  readonly time: TrainerTime | null;
  /** What the details say of the runs before. */
  readonly shown: Shown;
}

type Of<K extends PaceDecision["kind"]> = Extract<PaceDecision, { kind: K }>;

/** Activities of an update: assemble, update, publish. */
const UPDATE_EVENTS = 3 * ACTIVITY_EVENTS;

export async function climbAsync(input: ClimbAsyncInput): Promise<readonly Checkpoint[]> {
  const { scope, settings, carried } = input;
  const { maxLag, groupSize } = settings.climb;
  const paced = paceSettings(settings, input.tasks.length);
  const plan = groupPlan(settings);
  const pace = new Pace(paced, carried?.pace, input.spent);
  const dealt = new DealtTasks(input, paced.batch, carried?.dealt);
  const versions = [...(carried?.versions ?? [input.policy.id])];
  const checkpoints = [...(carried?.checkpoints ?? [])];
  let trained = carried?.policy ?? input.policy;
  let served = trained;
  let last = carried?.last ?? null;
  let time = carried?.time ?? null;
  const shown = { ...(carried?.shown ?? NOTHING_SHOWN) };
  const began = { at: Date.now(), update: last?.update ?? 0 };
  const flights = new Map<number, CancellationScope>();
  /** Everything that is going on: each takes itself out when it has ended. */
  const going = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  let stirred = false;
  let ending = false;
  setHandler(finishEarlySignal, () => {
    ending = true;
  });

  const show = (): void => {
    const update = last?.update ?? 0;
    const groups = shown.passes.reduce((sum, count) => sum + count, 0);
    const { updates } = settings.climb;
    const spell = { since: began.at, now: Date.now(), done: update - began.update, left: updates - update };
    const flying = { groups: pace.inProgress.length, ready: pace.ready.length };
    setCurrentDetails(
      climbDetails({ update, updates, policy: trained.id, groups, ...shown, pace: spell, flying }),
    );
  };

  const go = (work: Promise<void>): void => {
    const ended = work
      .catch((error) => {
        failure ??= { error };
      })
      .finally(() => {
        going.delete(ended);
        stirred = true;
      });
    going.add(ended);
  };

  const collect = async (group: PacedGroup): Promise<void> => {
    const chosen = dealt.groupOf(group);
    // Sampled by the start policy, and paid for by the pool.
    if (chosen.key === chosen.task.probeGroup) return pace.finished(group.serial, 0, 0);
    const policy = served;
    const flight = new CancellationScope();
    flights.set(group.serial, flight);
    try {
      const collected = await flight.run(() => collectClimbGroup(input, { ...chosen, policy, update: null }));
      const { passes, size, failure, first, versions: sampledBy = { [policy.id]: 0 } } = collected;
      // A group that grew was made to be mixed: only what it began with says how often the task is solved.
      const unchosen = first ?? { passes, size };
      dealt.note(group, unchosen.passes);
      shown.passes = withPasses(shown.passes, unchosen.passes, groupSize);
      shown.lastFailure = failure ?? shown.lastFailure;
      pace.finished(group.serial, oldestVersion(Object.keys(sampledBy), versions), size);
    } catch (error) {
      // One that left was cancelled because nothing is wanted of it any more.
      if (flights.has(group.serial) || !isCancellation(error)) throw error;
    } finally {
      flights.delete(group.serial);
    }
  };

  const leave = ({ group, refreshed }: Of<"leave">): void => {
    const flight = flights.get(group.serial);
    flights.delete(group.serial);
    flight?.cancel();
    if (!refreshed) dealt.settle(group);
  };

  const update = async ({ update, groups, left }: Of<"update">): Promise<void> => {
    const start = Date.now();
    const parent = trained;
    const { batch, kept, dropped } = await records.assemble({
      scope,
      update,
      groups: groups.map((group) => dealt.groupOf(group).key),
      advantage: settings.advantage,
      ...(plan.kind === "balanced" ? { plan } : {}),
      pace: { versions: versions.slice(-(maxLag + 1)), left, ...idleBefore(time, start) },
    });
    if (batch !== null) {
      trained = await trainerOf(settings).update({
        ...{ scope, update, batch, kept, dropped, parent },
        freshOptimizer: parent.id === input.policy.id,
        loss: settings.loss,
        optimizer: settings.optimizer,
        reuse: input.reuse ?? null,
      });
      versions.push(trained.id);
      noteAttributes({ policy: trained.id });
    }
    time = withUpdate(time, start, Date.now());
    for (const group of groups) dealt.settle(group);
    last = { update, policy: trained };
    if (update % settings.selection.everyUpdates === 0 || update === settings.climb.updates)
      checkpoints.push(last);
    shown.lastUpdate =
      batch === null
        ? `${update} was left out: none of ${dropped} groups has variance`
        : `${update} from ${kept} of ${kept + dropped} groups; the others have no variance`;
    pace.updated(batch !== null);
  };

  const publish = async (): Promise<void> => {
    const policy = trained;
    await serve(policy, settings);
    served = policy;
    pace.published();
  };

  /** Does all that there is to do now; returns the reason once it is over. */
  const proceed = (): Of<"end">["reason"] | null => {
    for (let decision = pace.next(); decision !== null; decision = pace.next()) {
      if (decision.kind === "end") return decision.reason;
      if (decision.kind === "start") go(collect(decision.group));
      if (decision.kind === "leave") leave(decision);
      if (decision.kind === "update") go(update(decision));
      if (decision.kind === "publish") go(publish());
    }
    return null;
  };

  const ahead = Math.ceil(paced.trajectories / groupSize) * CHILD_EVENTS + (maxLag + 1) * UPDATE_EVENTS;
  if (carried === undefined) await serveAnew(input.policy, settings);
  let over: Of<"end">["reason"] | null = null;
  for (;;) {
    if (historyIsLong(ahead)) pace.close();
    over = proceed();
    show();
    if (over !== null || ending) break;
    if (pace.closed && pace.atRest)
      return await continueAsNew<typeof climbAsync>({
        ...input,
        carried: {
          ...{ pace: pace.state, dealt: dealt.carried, versions, policy: trained },
          ...{ checkpoints, last, time, shown },
        },
      });
    stirred = false;
    await condition(() => stirred || ending);
    if (failure !== null) throw (failure as { error: unknown }).error;
  }
  if (over === null) {
    // An update that was begun is made: its groups would be lost.
    for (const serial of [...flights.keys()]) {
      const flight = flights.get(serial);
      flights.delete(serial);
      flight?.cancel();
    }
    while (going.size > 0) await Promise.all(going);
    if (failure !== null) throw (failure as { error: unknown }).error;
    if (served.id !== trained.id) await serve(trained, settings);
  }
  if (over === "budget")
    shown.lastUpdate = `${shown.lastUpdate ?? "none"}; another does not fit into climb.rolloutBudget (${settings.climb.rolloutBudget})`;
  show();
  const made = last as Checkpoint | null;
  noteAttributes({
    outcome: over !== null || made?.update === settings.climb.updates ? "finished" : "cut-short",
  });
  // Ended early, the last update's policy stands for election too.
  if (made !== null && checkpoints.at(-1)?.update !== made.update) checkpoints.push(made);
  return checkpoints;
}
