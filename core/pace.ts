/**
 * When an asynchronous climb starts a group, makes an update and publishes a version (docs/async.md): decisions alone, without clock or I/O, so that the
 * climb and the simulator run on the same code. The caller tells what has happened, then asks `next` until there is nothing to do.
 *
 * - No update uses a token that is more than `maxLag` versions older than the policy it changes.
 * - A group is started only if it would be used in time, were all that is there used before it.
 * - A batch takes the groups that were sampled anew first, then those with the oldest tokens. A group that has become too old is sampled anew once, and
 *   updates wait for it from then on, so that every task that was begun is used; or it is dropped. Either is counted, with the reason.
 */
import { guardsFit, inLine, type PacedGroup, stalenessOf } from "./pace-groups.ts";

export interface PaceSettings {
  readonly updates: number;
  /** Groups of one update. */
  readonly batch: number;
  /** Trajectories of a group that are in progress at once. */
  readonly groupSize: number;
  /** Trajectories in progress at once; at least `groupSize`. */
  readonly trajectories: number;
  readonly maxLag: number;
  readonly stale: "refresh" | "drop";
  /**
   * What becomes of trajectories in progress when there is a new version. `keep`: the server keeps the old one for them. `drain`: they end before it is
   * published. As long as tokens of the old one may still be used in time, others begin with that; so a wider bound has fewer such pauses. `continue`: they go on with it, so that their tokens are of several versions.
   */
  readonly onPublish: "keep" | "drain" | "continue";
  /** Rollouts that may be spent, and what a group takes at most; null = no bound. */
  readonly budget: { readonly rollouts: number; readonly perGroup: number } | null;
}

/** `too-slow`: still in progress; `too-old`: finished, and not used in time; `unknown-version`: sampled by a policy that is none of the climb's. */
export type LeaveReason = "too-slow" | "too-old" | "unknown-version";

/** Groups that left unused. */
export interface Left {
  readonly refreshed: Readonly<Partial<Record<LeaveReason, number>>>;
  readonly dropped: Readonly<Partial<Record<LeaveReason, number>>>;
}

export type PaceDecision =
  | { readonly kind: "start"; readonly group: PacedGroup }
  /** Of one in progress nothing is wanted any more. `refreshed`: its task will be sampled anew. */
  | {
      readonly kind: "leave";
      readonly group: PacedGroup;
      readonly reason: LeaveReason;
      readonly refreshed: boolean;
    }
  /** Update `update`, 1-based, of the latest version, from these groups. `left`: what left unused since the one before. */
  | {
      readonly kind: "update";
      readonly update: number;
      readonly groups: readonly PacedGroup[];
      readonly left: Left;
    }
  | { readonly kind: "publish"; readonly version: number }
  /** `budget`: what is left of it makes no batch. */
  | { readonly kind: "end"; readonly reason: "updates" | "budget" };

/** A place in the order of the tasks: position in a deal of `batch` of them, and how often it was sampled before. */
export type Place = Pick<PacedGroup, "deal" | "position" | "again">;

/** Plain data, carried over once all is at rest. */
export interface PaceState {
  /** Versions made since the start policy, which is version 0. */
  readonly trained: number;
  readonly published: number;
  /** Updates begun, those that made no version among them. */
  readonly begun: number;
  /** Places dealt. */
  readonly dealt: number;
  /** Groups started. */
  readonly started: number;
  /** In progress or ready, in the order of their starts. */
  readonly groups: readonly PacedGroup[];
  /** To be sampled anew. */
  readonly again: readonly Place[];
  /** Rollouts spent or set aside. */
  readonly committed: number;
  readonly left: Left;
}

const NOTHING_LEFT: Left = { refreshed: {}, dropped: {} };

export class Pace {
  readonly #settings: PaceSettings;
  #state: PaceState;
  #updating = false;
  #publishing: number | null = null;
  #closing = false;

  /** `spent`: rollouts of the budget that are gone already. */
  constructor(settings: PaceSettings, carried?: PaceState, spent = 0) {
    this.#settings = settings;
    this.#state = carried ?? {
      ...{ trained: 0, published: 0, begun: 0, dealt: 0, started: 0, groups: [], again: [] },
      committed: spent,
      left: NOTHING_LEFT,
    };
  }

  get state(): PaceState {
    return this.#state;
  }

  get inProgress(): readonly PacedGroup[] {
    return this.#state.groups.filter(({ ready }) => !ready);
  }

  get ready(): readonly PacedGroup[] {
    return this.#state.groups.filter(({ ready }) => ready);
  }

  /** Nothing more is started from now on, and it does not end by itself: once it is at rest, its state can be carried over. */
  close(): void {
    this.#closing = true;
  }

  get closed(): boolean {
    return this.#closing;
  }

  /** No group is in progress, no update is made and nothing is published. */
  get atRest(): boolean {
    return !this.#updating && this.#publishing === null && this.inProgress.length === 0;
  }

  /** `oldest`: version of its oldest token, null where that is none of the climb's; of a group that left, nothing is noted. */
  finished(serial: number, oldest: number | null, rollouts: number): void {
    const { groups, committed } = this.#state;
    const group = groups.find((one) => one.serial === serial);
    if (group === undefined) return;
    if (group.ready) throw new Error(`group ${serial} finished twice`);
    this.#change({
      groups: groups.map((one) => (one === group ? { ...group, ready: true, oldest } : one)),
      committed: committed - this.#perGroup + rollouts,
    });
  }

  /** `made`: false where the batch had nothing to learn from, so that the policy is as it was. */
  updated(made: boolean): void {
    if (!this.#updating) throw new Error("no update is being made");
    this.#updating = false;
    if (made) this.#change({ trained: this.#state.trained + 1 });
  }

  published(): void {
    if (this.#publishing === null) throw new Error("nothing is being published");
    this.#change({ published: this.#publishing });
    this.#publishing = null;
  }

  /** What to do now; null = wait for something to happen. Each decision is taken as done: what it begins is told when it has ended. */
  next(): PaceDecision | null {
    return this.#leave() ?? this.#update() ?? this.#publish() ?? this.#start() ?? this.#end();
  }

  get #perGroup(): number {
    return this.#settings.budget?.perGroup ?? 0;
  }

  #change(change: Partial<PaceState>): void {
    this.#state = { ...this.#state, ...change };
  }

  #leave(): PaceDecision | null {
    const { onPublish, maxLag, stale } = this.#settings;
    const { groups, trained, again, committed, left } = this.#state;
    for (const group of groups) {
      const reason = stalenessOf(group, trained, maxLag, onPublish !== "continue");
      if (reason === null) continue;
      const refreshed = stale === "refresh" && group.again === 0 && this.#affords(1);
      const side = refreshed ? "refreshed" : "dropped";
      this.#change({
        groups: groups.filter((one) => one !== group),
        left: { ...left, [side]: { ...left[side], [reason]: (left[side][reason] ?? 0) + 1 } },
        ...(refreshed
          ? {
              again: [...again, { deal: group.deal, position: group.position, again: group.again + 1 }],
              committed: committed + this.#perGroup,
            }
          : {}),
      });
      return { kind: "leave", group, reason, refreshed };
    }
    return null;
  }

  #update(): PaceDecision | null {
    const { updates, batch, maxLag } = this.#settings;
    const { groups, trained, begun, left } = this.#state;
    if (this.#updating || begun === updates) return null;
    const chosen = [...this.ready].sort(inLine).slice(0, batch);
    if (chosen.length < batch) return null;
    const rest = groups.filter((group) => !chosen.includes(group));
    // Waiting helps only as long as one of them may still end.
    const awaited = rest.some(({ ready, again }) => !ready && again > 0);
    if (awaited && !guardsFit(rest, trained + 1, batch, maxLag)) return null;
    this.#updating = true;
    this.#change({ groups: rest, begun: begun + 1, left: NOTHING_LEFT });
    return { kind: "update", update: begun + 1, groups: chosen, left };
  }

  #publish(): PaceDecision | null {
    const { trained, published } = this.#state;
    if (trained === published || this.#publishing !== null) return null;
    if (this.#settings.onPublish === "drain" && this.inProgress.length > 0) return null;
    this.#publishing = trained;
    return { kind: "publish", version: trained };
  }

  #start(): PaceDecision | null {
    const { batch } = this.#settings;
    const { groups, again, dealt, started, published, committed } = this.#state;
    if (!this.#mayStart()) return null;
    const next = again[0];
    if (next === undefined && !this.#wantsMore()) return null;
    const place = next ?? { deal: 1 + Math.floor(dealt / batch), position: dealt % batch, again: 0 };
    const group: PacedGroup = { ...place, serial: started, version: published, ready: false, oldest: null };
    this.#change({
      groups: [...groups, group],
      started: started + 1,
      ...(next === undefined
        ? { dealt: dealt + 1, committed: committed + this.#perGroup }
        : { again: again.slice(1) }),
    });
    return { kind: "start", group };
  }

  /** There is room for one more, and it would be used in time. */
  #mayStart(): boolean {
    const { groupSize, trajectories, onPublish, batch, maxLag } = this.#settings;
    const { groups, trained, published } = this.#state;
    if (this.#closing || (this.inProgress.length + 1) * groupSize > trajectories) return false;
    if (onPublish === "drain" && this.#publishing !== null) return false;
    const parent = trained + (this.#updating ? 1 : 0) + Math.floor(groups.length / batch);
    return parent - published <= maxLag;
  }

  /** Another place may be dealt: an update needs it, and the batch that it is for can be paid whole. */
  #wantsMore(): boolean {
    const { updates, batch } = this.#settings;
    const { groups, again, begun } = this.#state;
    const outstanding = groups.length + again.length;
    return outstanding < (updates - begun) * batch && this.#affords(batch - (outstanding % batch));
  }

  #affords(groups: number): boolean {
    const { budget } = this.#settings;
    return budget === null || this.#state.committed + groups * budget.perGroup <= budget.rollouts;
  }

  /** Once nothing can happen any more. */
  #end(): PaceDecision | null {
    if (this.#closing || !this.atRest) return null;
    return { kind: "end", reason: this.#state.begun === this.#settings.updates ? "updates" : "budget" };
  }
}
