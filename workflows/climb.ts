/** The climb: groups → batch → update → publish, with a bounded lag (docs/method.md §6). */
import {
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import { type ClimbStanding, climbDetails, withPasses } from "../core/details.ts";
import { groupPlan, updateRollouts } from "../core/groups.ts";
import { isEngineKind, type PolicyRef } from "../core/policy.ts";
import { scopeKey } from "../core/scope.ts";
import { noteAttributes } from "./attributes.ts";
import type { AdmittedTask } from "./calibrateTask.ts";
import { type Checkpoint, type ClimbInput, collectClimbGroup } from "./climbing.ts";
import { CHILD_EVENTS, historyIsLong, records } from "./config.ts";
import { finishEarlySignal } from "./messages.ts";
import { serve, serveAnew, trainerOf } from "./policies.ts";
import { TaskChoice, type TaskChoiceState } from "./taskChoice.ts";
import { mapWindow } from "./window.ts";

export interface ExactClimbInput extends ClimbInput {
  /** Carried over when the history grows long. */
  readonly carried?: ClimbState;
}

interface ClimbState {
  /** Update to make next, 1-based. */
  readonly next: number;
  /** Policies of the last `maxLag + 1` versions, oldest first; the last is the current one. */
  readonly versions: readonly PolicyRef[];
  readonly checkpoints: readonly Checkpoint[];
  /** How many groups are collected for each update not made yet: the first of its tasks. */
  readonly collected: Readonly<Record<number, number>>;
  /** Rollouts of the updates that are made, the pool's among them, and so far of each update not made yet. */
  readonly rollouts?: { readonly spent: number; readonly open: Readonly<Record<number, number>> };
  readonly choice?: TaskChoiceState | undefined;
  /** What the details say of the runs before. */
  readonly shown?: Pick<ClimbStanding, "passes" | "lastUpdate" | "lastFailure">;
}

const NOTHING_SHOWN = { passes: [], lastUpdate: null, lastFailure: null };

interface Collected {
  /** Of all the update's groups. */
  readonly keys: readonly string[];
  /** How many of them are there; fewer than all only once the history is long. */
  readonly done: number;
  /** What they took. */
  readonly rollouts: number;
}

export async function climb(input: ExactClimbInput): Promise<readonly Checkpoint[]> {
  const { scope, settings, tasks } = input;
  const { updates, tasksPerBatch, groupSize, maxLag } = settings.climb;
  const plan = groupPlan(settings);
  // Settings of before there was one have none.
  const budget = (settings.climb.rolloutBudget as number | null | undefined) ?? null;
  const start: ClimbState = input.carried ?? {
    next: 1,
    versions: [input.policy],
    checkpoints: [],
    collected: {},
  };
  const versions = [...start.versions];
  const checkpoints = [...start.checkpoints];
  const collected = new Map<number, Promise<Collected>>();
  const choice = new TaskChoice(tasks, settings, scope, start.choice);
  let spent = start.rollouts?.spent ?? input.spent ?? 0;
  const flight = new CancellationScope();
  const since = Date.now();
  let last: Checkpoint | null =
    start.next === 1 ? null : { update: start.next - 1, policy: versions.at(-1)! };
  let { passes: seen, lastUpdate, lastFailure } = start.shown ?? NOTHING_SHOWN;
  const show = (): void => {
    const update = last?.update ?? 0;
    const policy = versions.at(-1)!.id;
    const groups = seen.reduce((sum, count) => sum + count, 0);
    const pace = { since, now: Date.now(), done: update - (start.next - 1), left: updates - update };
    setCurrentDetails(
      climbDetails({ update, updates, policy, lastUpdate, groups, passes: seen, lastFailure, pace }),
    );
  };
  show();
  if (input.carried === undefined) await serveAnew(input.policy, settings);
  let ending = false;
  let isSpent = false;
  setHandler(finishEarlySignal, () => {
    ending = true;
  });
  const window = Math.min(settings.concurrency.groups, tasksPerBatch);
  const cut = () => historyIsLong((maxLag + 1) * window * CHILD_EVENTS);
  const unlessEnding = <T>(work: Promise<T>): Promise<T | null> =>
    Promise.race([work, condition(() => ending).then(() => null)]);

  const groupKey = (update: number, n: number, task: AdmittedTask): string =>
    // Sampled by this very policy, so lag and log-probs are exact; chosen by outcome, so not an unbiased sample of the task.
    update === 1 && settings.filter.probesAsGroups && task.probeGroup !== null
      ? task.probeGroup
      : `${scopeKey(scope)}/climb/${update}/${n}`;

  /** At most, and exactly where groups are of a fixed size. Probes that are groups were paid for by the pool. */
  const rolloutsOf = (update: number): number => {
    const sampled = choice.tasksOf(update).filter((task, n) => groupKey(update, n, task) !== task.probeGroup);
    return updateRollouts(settings, sampled.length);
  };

  /** By update that is begun and not made: the rollouts that it may come to. */
  const reserved = new Map<number, number>();
  const fits = (update: number): boolean => {
    if (budget === null) return true;
    const wanted = rolloutsOf(update);
    const all = [...reserved.values()].reduce((sum, count) => sum + count, spent + wanted);
    if (all > budget) return false;
    reserved.set(update, wanted);
    return true;
  };

  const collectFor = async (update: number, policy: PolicyRef): Promise<Collected> => {
    const chosen = choice.tasksOf(update);
    const before = start.collected[update] ?? 0;
    let rollouts = start.rollouts?.open[update] ?? 0;
    const now = await mapWindow(
      chosen.slice(before),
      window,
      async (task, index) => {
        const n = before + index;
        const key = groupKey(update, n, task);
        if (key === task.probeGroup) return;
        const { passes, size, failure, first } = await collectClimbGroup(input, {
          ...{ key, name: `${update}-${n}`, task, policy, update },
          randomKeys: [scope.iteration, "climb", update, n],
        });
        rollouts += size;
        // A group that grew was made to be mixed: only what it began with says how often the task is solved.
        const unchosen = first ?? { passes, size };
        choice.note(update, n, unchosen.passes);
        seen = withPasses(seen, unchosen.passes, groupSize);
        lastFailure = failure ?? lastFailure;
        show();
      },
      cut,
    );
    return { keys: chosen.map((task, n) => groupKey(update, n, task)), done: before + now.length, rollouts };
  };

  for (let update = start.next; update <= updates; update++) {
    // Update v trains on tokens of version max(0, v - 1 - maxLag), which exists once v <= update + maxLag.
    for (let ahead = update; ahead <= Math.min(updates, update + maxLag); ahead++) {
      if (collected.has(ahead)) continue;
      if (!fits(ahead)) break;
      const behind = Math.min(maxLag, ahead - 1) - (ahead - update);
      const sampler = versions[versions.length - 1 - Math.max(0, behind)]!;
      const groups = flight.run(() => collectFor(ahead, sampler));
      groups.catch(() => undefined);
      collected.set(ahead, groups);
    }
    if (!collected.has(update)) {
      // What is begun is made; so nothing is in flight.
      isSpent = true;
      lastUpdate = `${lastUpdate ?? "none"}; another does not fit into climb.rolloutBudget (${budget})`;
      show();
      break;
    }
    const ready = await unlessEnding(collected.get(update)!);
    const drained = ready !== null && cut() ? await unlessEnding(counts(collected)) : null;
    if (ready === null || ending) {
      flight.cancel();
      await Promise.allSettled(collected.values());
      break;
    }
    if (drained !== null)
      return await continueAsNew<typeof climb>({
        ...input,
        carried: {
          next: update,
          versions,
          checkpoints,
          collected: drained.done,
          rollouts: { spent, open: drained.rollouts },
          choice: choice.carried,
          shown: { passes: seen, lastUpdate, lastFailure },
        },
      });
    collected.delete(update);
    reserved.delete(update);
    spent += ready.rollouts;
    choice.close(update);
    const parent = versions.at(-1)!;
    const { batch, kept, dropped } = await records.assemble({
      scope,
      update,
      groups: ready.keys,
      advantage: settings.advantage,
      ...(plan.kind === "balanced" ? { plan } : {}),
    });
    let policy = parent;
    if (batch !== null) {
      policy = await trainerOf(settings).update({
        scope,
        update,
        batch,
        kept,
        dropped,
        parent,
        freshOptimizer: parent.id === input.policy.id,
        loss: settings.loss,
        optimizer: settings.optimizer,
        reuse: input.reuse ?? null,
      });
      // Engines have one version at a time: those in progress end on theirs first.
      if (isEngineKind(settings.policy.kind)) await unlessEnding(Promise.allSettled(collected.values()));
      await serve(policy, settings);
      noteAttributes({ policy: policy.id });
    }
    lastUpdate =
      batch === null
        ? `${update} was left out: none of ${dropped} groups has variance`
        : `${update} from ${kept} of ${kept + dropped} groups; the others have no variance`;
    versions.push(policy);
    if (versions.length > maxLag + 1) versions.shift();
    if (update % settings.selection.everyUpdates === 0 || update === updates)
      checkpoints.push({ update, policy });
    last = { update, policy };
    show();
  }
  noteAttributes({ outcome: isSpent || (last?.update ?? 0) === updates ? "finished" : "cut-short" });
  // Ended early, the last update's policy stands for election too.
  if (last !== null && checkpoints.at(-1)?.update !== last.update) checkpoints.push(last);
  return checkpoints;
}

/** What each update has, once nothing is in flight any more. */
async function counts(
  collected: ReadonlyMap<number, Promise<Collected>>,
): Promise<Record<"done" | "rollouts", Record<number, number>>> {
  const counted: Record<"done" | "rollouts", Record<number, number>> = { done: {}, rollouts: {} };
  for (const [update, groups] of collected) {
    const { done, rollouts } = await groups;
    counted.done[update] = done;
    counted.rollouts[update] = rollouts;
  }
  return counted;
}
