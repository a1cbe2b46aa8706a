/** What is on record of the pace at which a batch was made: how old its tokens are, what was left out for its age, how long the trainer waited. */
import type { LagCounts } from "./lag.ts";
import type { Left } from "./pace.ts";

export interface BatchPace {
  /** Trained tokens by their age, in versions. */
  readonly lags: LagCounts;
  /** Groups that left unused since the update before. */
  readonly left: Left;
  /** Seconds from the end of the update before to the beginning of this one; null for a climb's first. For people: it takes part in no decision. */
  readonly waitedSeconds: number | null;
  /** Share of the time since the climb's first update began in which none was made, up to this one; null for the first. For people. */
  readonly idleShare: number | null;
}

/** When the trainer was at work, in milliseconds of the caller's clock. */
export interface TrainerTime {
  /** Beginning of the first update. */
  readonly since: number;
  /** Sum over the updates. */
  readonly busy: number;
  /** End of the last one; while one is made, the end of the one before. */
  readonly ended: number;
}

/** At the beginning of an update; `time` is null for the first. */
export function idleBefore(
  time: TrainerTime | null,
  now: number,
): Pick<BatchPace, "waitedSeconds" | "idleShare"> {
  if (time === null) return { waitedSeconds: null, idleShare: null };
  const total = now - time.since;
  return {
    waitedSeconds: (now - time.ended) / 1000,
    idleShare: total > 0 ? 1 - time.busy / total : 0,
  };
}

/** With an update from `began` to `now`. */
export function withUpdate(time: TrainerTime | null, began: number, now: number): TrainerTime {
  return { since: time?.since ?? began, busy: (time?.busy ?? 0) + (now - began), ended: now };
}
