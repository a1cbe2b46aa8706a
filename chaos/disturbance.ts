/** Carries a plan out against a running stack: kills at their moments, outages in the middle of a climb. */
import type { ProcessName } from "../infra/stack/index.ts";
import { type Killed, killProcess, outage, serving } from "./kill.ts";
import { isReached, type Moment, type Outage, type PlannedKill } from "./plan.ts";
import type { RunState } from "./progress.ts";
import type { Disturber } from "./run.ts";

export class Disturbance implements Disturber {
  readonly killed: Killed[] = [];
  readonly outages: Outage[] = [];
  readonly #planned: number;
  readonly #moments: Moment[];
  readonly #processes: ProcessName[];
  readonly #outages: Outage[];
  readonly #climbs: { readonly iterations: number; readonly updates: number };
  readonly #say: (line: string) => void;

  /** `climbs`: how many iterations there are, and how many updates each makes. */
  constructor(options: {
    kills: readonly PlannedKill[];
    outages: readonly Outage[];
    climbs: { readonly iterations: number; readonly updates: number };
    say: (line: string) => void;
  }) {
    this.#planned = options.kills.length;
    this.#moments = options.kills.map(({ moment }) => moment);
    this.#processes = options.kills.map(({ process }) => process);
    this.#outages = [...options.outages];
    this.#climbs = options.climbs;
    this.#say = options.say;
  }

  /** Kills whose moment the run has not reached. */
  get killsLeft(): number {
    return this.#moments.length;
  }

  /** Does what is due. `state` is the last known one, `now` how far the run has come. */
  async step(folder: string, state: RunState, now: Moment): Promise<void> {
    const next = this.#outages[0];
    if (next !== undefined && this.#inMiddleOfClimb(state, this.outages.length)) {
      this.#outages.shift();
      this.outages.push(next);
      this.#say(`${next.process} is killed and stays down for ${next.seconds} s`);
      const killed = await outage(folder, next.process, next.seconds);
      if (killed) this.killed.push(killed);
      return;
    }
    while (this.#moments[0] !== undefined && isReached(this.#moments[0], now)) {
      if (!(await this.#killNext(folder))) return;
    }
  }

  /** The plan's next process that serves now; one that is just starting keeps its share for later. */
  async #killNext(folder: string): Promise<boolean> {
    for (const [index, name] of this.#processes.entries()) {
      const identity = serving(folder, name);
      if (identity === null) continue;
      this.#moments.shift();
      this.#processes.splice(index, 1);
      const killed = await killProcess(name, identity);
      this.killed.push(killed);
      this.#say(`kill ${this.#planned - this.#moments.length}/${this.#planned}: ${name} (pid ${killed.pid})`);
      return true;
    }
    return false;
  }

  /** Outages fall on the iterations in turn. */
  #inMiddleOfClimb(state: RunState, index: number): boolean {
    const iteration = state.iterations[index % this.#climbs.iterations];
    if (iteration === undefined || iteration.status === "pool") return false;
    return iteration.updates >= Math.max(1, Math.floor(this.#climbs.updates / 2));
  }
}
