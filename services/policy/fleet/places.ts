/** The places of one engine: so many turns at once, the others wait in the order they came. */
import { PolicyError } from "../client.ts";

export interface Places {
  readonly taken: number;
  readonly waiting: number;
  /** True = a place is taken, to be given back; false = the engine left meanwhile. Throws PolicyError `aborted`. */
  take(signal?: AbortSignal): Promise<boolean>;
  giveBack(): void;
  /** Whoever waits has to look elsewhere. */
  sendAway(): void;
}

export function createPlaces(count: number): Places {
  const waiters: ((got: boolean) => void)[] = [];
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    get waiting() {
      return waiters.length;
    },
    take: (signal) => {
      if (taken < count) {
        taken++;
        return Promise.resolve(true);
      }
      return new Promise((resolve, reject) => {
        const settle = (got: boolean) => {
          signal?.removeEventListener("abort", giveUp);
          resolve(got);
        };
        const giveUp = () => {
          waiters.splice(waiters.indexOf(settle), 1);
          reject(new PolicyError("aborted", "the caller gave up while it waited for an engine"));
        };
        signal?.addEventListener("abort", giveUp, { once: true });
        waiters.push(settle);
      });
    },
    giveBack: () => {
      const next = waiters.shift();
      if (next) next(true);
      else taken--;
    },
    sendAway: () => {
      for (const waiter of waiters.splice(0)) waiter(false);
    },
  };
}
