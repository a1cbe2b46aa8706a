/** Who decides what the node does: the pace of the asynchronous climb, the very code that a run uses, and one-step-async to compare it with. */
import { Pace, type PaceSettings } from "../../core/pace.ts";
import { type Collected, type Flight, SimulatedNode } from "./node.ts";
import type { NodeSettings } from "./settings.ts";

export interface Outcome {
  /** Share of the time from the first update's beginning to the last one's end in which the trainer made none. */
  readonly idle: number;
  readonly updatesPerHour: number;
  readonly trajectoriesPerHour: number;
  readonly enginesBusy: number;
  /** Mean age in versions of a sampled token that was used; of the oldest one. */
  readonly meanLag: number;
  readonly greatestLag: number;
  readonly refreshed: number;
  readonly dropped: number;
  /** Trajectories in progress at once, at most. */
  readonly inProgress: number;
  /** Beginning and end of each update, seconds. */
  readonly updates: readonly { readonly began: number; readonly ended: number }[];
}

/** Ages of the tokens that updates used. */
class Ages {
  #tokens = 0;
  #sum = 0;
  greatest = 0;

  used(groups: readonly Collected[], parent: number): void {
    for (const { byVersion, oldest } of groups) {
      this.greatest = Math.max(this.greatest, parent - oldest);
      for (const [version, tokens] of byVersion) {
        this.#tokens += tokens;
        this.#sum += tokens * (parent - version);
      }
    }
  }

  get mean(): number {
    return this.#tokens === 0 ? 0 : this.#sum / this.#tokens;
  }
}

function outcome(node: SimulatedNode, ages: Ages, left: { refreshed: number; dropped: number }): Outcome {
  const { updates } = node;
  const first = updates[0]!.began;
  const total = updates.at(-1)!.ended - first;
  const busy = updates.reduce((sum, { began, ended }) => sum + (ended - began), 0);
  const hours = node.agenda.now / 3600;
  return {
    idle: 1 - busy / total,
    updatesPerHour: updates.length / (total / 3600),
    trajectoriesPerHour: node.trajectories / hours,
    enginesBusy: node.enginesBusy,
    ...{ meanLag: ages.mean, greatestLag: ages.greatest, ...left },
    ...{ inProgress: node.mostInProgress, updates },
  };
}

export interface AsyncChoice {
  readonly maxLag: number;
  /** As `policy.engines.onPublish`. */
  readonly onPublish: "finish" | "continue";
  readonly stale: PaceSettings["stale"];
}

export function runPaced(settings: NodeSettings, { maxLag, onPublish, stale }: AsyncChoice): Outcome {
  const { updates, batch, groupSize, trajectories } = settings;
  const pace = new Pace({
    ...{ updates, batch, groupSize, trajectories, maxLag, stale },
    onPublish: onPublish === "finish" ? "drain" : "continue",
    budget: null,
  });
  const node = new SimulatedNode(settings);
  const ages = new Ages();
  const left = { refreshed: 0, dropped: 0 };
  const flights = new Map<number, Flight>();
  const collected = new Map<number, Collected>();
  let over = false;
  const proceed = (): void => {
    for (let decision = pace.next(); decision !== null; decision = pace.next()) {
      if (decision.kind === "start") {
        const { serial } = decision.group;
        const flight = node.collect(decision.group, (group) => {
          collected.set(serial, group);
          pace.finished(serial, group.oldest, settings.groupSize);
          proceed();
        });
        flights.set(serial, flight);
      } else if (decision.kind === "leave") {
        flights.get(decision.group.serial)?.cancel();
        left[decision.refreshed ? "refreshed" : "dropped"]++;
      } else if (decision.kind === "update") {
        const groups = decision.groups.map(({ serial }) => collected.get(serial)!);
        ages.used(groups, pace.state.trained);
        node.train(groups, (made) => {
          pace.updated(made);
          proceed();
        });
      } else if (decision.kind === "publish") {
        node.publish(decision.version, () => {
          pace.published();
          proceed();
        });
      } else {
        over = true;
        return;
      }
    }
  };
  proceed();
  node.agenda.run(() => over);
  return outcome(node, ages, left);
}

/**
 * One step ahead, as slime's `train_async.py` does it: the whole next batch is sampled while an update is made, and weights are published once both have
 * ended; the trainer waits for that. https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/train_async.py
 */
export function runOneStep(settings: NodeSettings): Outcome {
  const node = new SimulatedNode(settings);
  const ages = new Ages();
  let version = 0;
  let over = false;
  let next: Collected[] | null = null;
  let training = false;
  const sample = (deal: number): void => {
    const groups: Collected[] = [];
    for (let position = 0; position < settings.batch; position++)
      node.collect({ deal, position, again: 0 }, (group) => {
        groups.push(group);
        if (groups.length < settings.batch) return;
        next = groups;
        meet(deal);
      });
  };
  const meet = (deal: number): void => {
    if (training || (next === null && deal <= settings.updates)) return;
    if (deal === 1) {
      step(deal);
      return;
    }
    node.publish(++version, () => {
      if (deal > settings.updates) over = true;
      else step(deal);
    });
  };
  /** Trains on batch `deal`, and samples the one after it. */
  const step = (deal: number): void => {
    const groups = next!;
    next = null;
    training = true;
    ages.used(groups, version);
    if (deal < settings.updates) sample(deal + 1);
    node.train(groups, () => {
      training = false;
      meet(deal + 1);
    });
  };
  sample(1);
  node.agenda.run(() => over);
  return outcome(node, ages, { refreshed: 0, dropped: 0 });
}
