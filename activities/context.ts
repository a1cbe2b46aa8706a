/** What every activity needs of Temporal: heartbeats while it works, and failures that say whether trying again can help. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { type FailureType, failureRule, failureType } from "../core/failures.ts";

/** Often enough to notice a cancellation soon; the SDK throttles what it sends. */
const BEAT_MS = 2000;
const HELD_RETRY = "5 seconds";

const stopSignal = new AsyncLocalStorage<AbortSignal>();

/** Runs `work` such that `signal` too aborts what is heartbeating in it. */
export function stoppableBy<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return stopSignal.run(signal, work);
}

/**
 * Runs `work` while heartbeating. `beat` records a small progress value (well under 1 KB). What `withEachBeat` was given last runs at once and with
 * every heartbeat until the work is cancelled: given up by Temporal, it must keep nothing alive.
 */
export async function heartbeating<T>(
  work: (context: {
    readonly signal: AbortSignal;
    beat(detail: unknown): void;
    withEachBeat(action: () => void): void;
  }) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const stop = stopSignal.getStore();
  const signal =
    stop === undefined ? context.cancellationSignal : AbortSignal.any([context.cancellationSignal, stop]);
  let detail: unknown = null;
  let action = () => {};
  const timer = setInterval(() => {
    context.heartbeat(detail);
    if (!signal.aborted) action();
  }, BEAT_MS);
  try {
    return await work({
      signal,
      beat: (value) => {
        detail = value;
        context.heartbeat(value);
      },
      withEachBeat: (given) => {
        action = given;
        if (!signal.aborted) action();
      },
    });
  } finally {
    clearInterval(timer);
  }
}

/** The failure Temporal sees, typed by the table in core/failures.ts. */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (!(error instanceof Error)) return error;
  const type = failureType(error);
  return ApplicationFailure.create({
    message: error.message,
    type,
    nonRetryable: !failureRule(type).retried,
    cause: error,
  });
}

/** Of work that waits for a resume: asked for again soon enough, and seldom enough for a hold of days. */
export function heldFailure(message: string, cause?: unknown): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type: "Held" satisfies FailureType,
    nextRetryDelay: HELD_RETRY,
    ...(cause instanceof Error ? { cause } : {}),
  });
}

/** Wraps every activity of a table so that what it throws is a failure Temporal understands. */
export function withFailures<T extends Record<string, (...args: never[]) => Promise<unknown>>>(
  activities: T,
): T {
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      async (...args: never[]) => {
        try {
          return await activity(...args);
        } catch (error) {
          throw toFailure(error);
        }
      },
    ]),
  ) as T;
}
