/** Ways in which a fake engine misbehaves, by the step at which it does. */
import type { ServerResponse } from "node:http";

/** What an engine is asked for: turns, what it is, and the steps of a publication. */
export const STEPS = [
  "complete",
  "health",
  "models",
  "version",
  "pause",
  "flush",
  "load",
  "name-version",
  "resume",
  "check",
] as const;
export type Step = (typeof STEPS)[number];

/**
 * `hang`: no answer, ever. `drop`: the connection ends within the body. `refuse`: it ends before any of it. `die`: the whole engine ends
 * before it does the step; `die-after`: once it has done it, without an answer. A number: that HTTP status. The others are of a turn alone:
 * `few-logprobs`: one log-probability fewer than tokens; `not-finite`: one of them is none; `stale-version`: an older version is told;
 * `retemplate`: the prompt is said to be another, as when a server renders the history anew; `abort`: the server ends the turn itself.
 */
export type Fault =
  | "hang"
  | "drop"
  | "refuse"
  | "die"
  | "die-after"
  | "few-logprobs"
  | "not-finite"
  | "stale-version"
  | "retemplate"
  | "abort"
  | number;

export interface Faults {
  /** The next `times` requests of the step meet it; default: all. */
  set(step: Step, fault: Fault, times?: number): void;
  clear(): void;
  take(step: Step): Fault | null;
}

export function createFaults(): Faults {
  const set = new Map<Step, { fault: Fault; left: number }>();
  return {
    set: (step, fault, times = Number.POSITIVE_INFINITY) => void set.set(step, { fault, left: times }),
    clear: () => set.clear(),
    take: (step) => {
      const found = set.get(step);
      if (!found || found.left <= 0) return null;
      found.left--;
      return found.fault;
    },
  };
}

/** Sends half of the body, with the length of the whole, and ends the connection. */
export function dropWithin(response: ServerResponse, body: string): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.write(body.slice(0, body.length / 2), () => response.destroy());
}
