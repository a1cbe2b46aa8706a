/** A policy server that takes its time: stopped, and let go now and then, so that what waits for it waits together. */
import { setTimeout as sleep } from "node:timers/promises";
import { serving } from "./kill.ts";

interface Pace {
  readonly heldMs: number;
  readonly openMs: number;
}

/** Often enough for the supervisor's probes, which wait for ten seconds. */
const STILL: Pace = { heldMs: 4000, openMs: 30 };
const SLOW: Pace = { heldMs: 1000, openMs: 100 };

export class SlowPolicy {
  readonly #folder: string;
  readonly #ended = new AbortController();
  readonly #running: Promise<void>;
  #pace = STILL;

  /** Of the stack in that data folder, from now on. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#running = this.#run();
  }

  /** `slow` answers some turns each second, `still` hardly any. */
  set pace(pace: "still" | "slow") {
    this.#pace = pace === "slow" ? SLOW : STILL;
  }

  /** It serves as before. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const { heldMs, openMs } = this.#pace;
      this.#signal("SIGSTOP");
      await sleep(heldMs, undefined, { signal }).catch(() => {});
      this.#signal("SIGCONT");
      await sleep(openMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Whichever process serves now: a stopped one may have been replaced. */
  #signal(name: "SIGSTOP" | "SIGCONT"): void {
    const identity = serving(this.#folder, "policy");
    try {
      if (identity !== null) process.kill(identity.pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
