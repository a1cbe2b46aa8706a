/** Looks after engines again and again; one look at a time, and longer apart while they fail. */
import { setTimeout as sleep } from "node:timers/promises";

export interface Keeper {
  /** Returns once the look in progress has ended. */
  close(): Promise<void>;
}

const LONGEST_SECONDS = 300;

export function startKeeper(tend: () => Promise<void>, everySeconds: number): Keeper {
  const end = new AbortController();
  const keep = async (): Promise<void> => {
    let wait = everySeconds;
    while (!end.signal.aborted) {
      await sleep(wait * 1000, undefined, { signal: end.signal, ref: false }).catch(() => undefined);
      if (end.signal.aborted) return;
      wait = await tend().then(
        () => everySeconds,
        // The record or an engine is away: it is no reason to end.
        () => Math.min(wait * 2, LONGEST_SECONDS),
      );
    }
  };
  const running = keep();
  return {
    close: () => {
      end.abort();
      return running;
    },
  };
}
