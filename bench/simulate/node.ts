/** The simulated node: engines, sandboxes and a trainer. Schedulers decide; what they begin takes its time here. */
import { Agenda } from "./agenda.ts";
import { Engine } from "./engine.ts";
import type { NodeSettings } from "./settings.ts";
import { type GroupPlace, groupTrace, isUniform, type Trajectory } from "./trace.ts";

export interface Collected {
  readonly place: GroupPlace;
  /** Version that was live when its first token was sampled. */
  readonly oldest: number;
  /** Sampled tokens by the version that was live when their turn began. */
  readonly byVersion: ReadonlyMap<number, number>;
  /** Prompt and sampled tokens of all its trajectories. */
  readonly tokens: number;
  readonly uniform: boolean;
}

/** Ended before its time; nothing more is heard of it. */
export interface Flight {
  cancel(): void;
}

export class SimulatedNode {
  readonly agenda = new Agenda();
  readonly settings: NodeSettings;
  readonly #engines: Engine[];
  /** Version that the engines serve. */
  #live = 0;
  #flying = 0;
  #mostFlying = 0;
  /** Trajectories that ended, those of cancelled groups not among them. */
  trajectories = 0;
  readonly updates: { readonly began: number; readonly ended: number }[] = [];

  constructor(settings: NodeSettings) {
    this.settings = settings;
    this.#engines = Array.from(
      { length: settings.engines.count },
      () => new Engine(this.agenda, settings.engines),
    );
  }

  get mostInProgress(): number {
    return this.#mostFlying;
  }

  /** Mean share of the engines with a turn in progress, up to now. */
  get enginesBusy(): number {
    const busy = this.#engines.reduce((sum, { busySeconds }) => sum + busySeconds, 0);
    return busy / (this.#engines.length * this.agenda.now);
  }

  collect(place: GroupPlace, done: (group: Collected) => void): Flight {
    const trace = groupTrace(this.settings, place);
    const byVersion = new Map<number, number>();
    const flight = { cancelled: false };
    let left = trace.length;
    for (const trajectory of trace)
      this.#roll(trajectory, flight, byVersion, () => {
        if (--left > 0) return;
        this.agenda.after(this.settings.sandbox.verifySeconds, () => {
          if (flight.cancelled) return;
          this.trajectories += trace.length;
          done({
            place,
            oldest: Math.min(...byVersion.keys()),
            byVersion,
            tokens: trace.reduce((sum, { context }) => sum + context, 0),
            uniform: isUniform(this.settings, place),
          });
        });
      });
    return {
      cancel: () => {
        flight.cancelled = true;
      },
    };
  }

  /** Prefix-affine: all its turns go to the engine that had the fewest when it began. */
  #roll(
    { turns }: Trajectory,
    flight: { readonly cancelled: boolean },
    byVersion: Map<number, number>,
    ended: () => void,
  ): void {
    this.#flying++;
    this.#mostFlying = Math.max(this.#mostFlying, this.#flying);
    let engine: Engine | null = null;
    let context = 0;
    const take = (index: number): void => {
      const turn = turns[index];
      if (turn === undefined || flight.cancelled) {
        this.#flying--;
        if (!flight.cancelled) ended();
        return;
      }
      engine ??= this.#engines.reduce((least, one) => (one.turns < least.turns ? one : least));
      const version = this.#live;
      context += turn.prompt + turn.tokens;
      engine.ask(turn.prompt, turn.tokens, context, () => {
        byVersion.set(version, (byVersion.get(version) ?? 0) + turn.tokens);
        this.agenda.after(turn.toolSeconds, () => take(index + 1));
      });
    };
    this.agenda.after(this.settings.sandbox.bootSeconds, () => take(0));
  }

  /** `made`: false where all groups are uniform. */
  train(groups: readonly Collected[], done: (made: boolean) => void): void {
    const { tokensPerSecond, fixedSeconds } = this.settings.trainer;
    const trained = groups.filter(({ uniform }) => !uniform);
    const tokens = trained.reduce((sum, group) => sum + group.tokens, 0);
    const began = this.agenda.now;
    this.agenda.after(fixedSeconds + tokens / tokensPerSecond, () => {
      this.updates.push({ began, ended: this.agenda.now });
      done(trained.length > 0);
    });
  }

  /** Engines are paused until all of them have the version, and have computed again what was in progress. */
  publish(version: number, done: () => void): void {
    const { seconds, recomputeTokensPerSecond } = this.settings.publish;
    const again = Math.max(...this.#engines.map((engine) => engine.contextTokens));
    for (const engine of this.#engines) engine.pause();
    this.agenda.after(seconds + again / recomputeTokensPerSecond, () => {
      this.#live = version;
      for (const engine of this.#engines) engine.resume();
      done();
    });
  }
}
