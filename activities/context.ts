/** What every activity needs of Temporal: heartbeats while it works, and failures that say whether trying again can help. */
import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { errorKind } from "../core/errors.ts";

/** Often enough to notice a cancellation soon; the SDK throttles what it sends. */
const BEAT_MS = 2000;

/** Runs `work` while heartbeating. `beat` records a small progress value (well under 1 KB). */
export async function heartbeating<T>(
  work: (context: { readonly signal: AbortSignal; beat(detail: unknown): void }) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  let detail: unknown = null;
  const timer = setInterval(() => context.heartbeat(detail), BEAT_MS);
  try {
    return await work({
      signal: context.cancellationSignal,
      beat: (value) => {
        detail = value;
        context.heartbeat(value);
      },
    });
  } finally {
    clearInterval(timer);
  }
}

/** Kinds of errors that stay what they are however often one tries: the caller has to change something. */
const FINAL_KINDS = new Set([
  "capability",
  "conflict",
  "invalid",
  "missing",
  "damaged",
  "reference",
  "newer-schema",
  "unknown",
  "tests-fail",
  "unstable",
  "source-copy",
  "batch",
  "diverged",
  "format",
  "row",
  "truncated",
  "version",
  "not-finite",
]);

/** The failure Temporal sees: `BadInput` is never retried; anything else is, by the activity's own policy. */
export function toFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (!(error instanceof Error)) return error;
  const kind = errorKind(error);
  if (kind !== null && FINAL_KINDS.has(kind)) {
    return ApplicationFailure.create({
      message: error.message,
      type: "BadInput",
      nonRetryable: true,
      cause: error,
    });
  }
  return ApplicationFailure.create({ message: error.message, type: kind ?? error.name, cause: error });
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
