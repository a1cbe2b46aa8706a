/** Timeouts and retries of every activity, by reliability class. Nowhere else. */
import { type ActivityOptions, proxyActivities } from "@temporalio/workflow";
import type { GpuActivities, RecordActivities, SandboxActivities } from "../activities/types.ts";
import { NOT_RETRIED } from "../core/failures.ts";
import { QUEUES } from "./queues.ts";

/**
 * A dead worker shows as a missing heartbeat, so this bounds how long its work lies still. Activities beat every two seconds
 * (workers throttle to 80 % of this).
 */
const HEARTBEAT = "15 seconds";

/** Short work on the record: retried until the database answers again. */
const record: ActivityOptions = {
  taskQueue: QUEUES.orchestrate,
  startToCloseTimeout: "2 minutes",
  retry: {
    initialInterval: "200 milliseconds",
    maximumInterval: "10 seconds",
    nonRetryableErrorTypes: NOT_RETRIED,
  },
};

/** Work in sandboxes: long, heartbeating, resumable or repeatable. */
const sandbox: ActivityOptions = {
  taskQueue: QUEUES.sandbox,
  startToCloseTimeout: "2 hours",
  heartbeatTimeout: HEARTBEAT,
  retry: {
    initialInterval: "500 milliseconds",
    maximumInterval: "30 seconds",
    nonRetryableErrorTypes: NOT_RETRIED,
  },
};

/** Training: long, heartbeating, applied once however often it runs. */
const gpu: ActivityOptions = {
  taskQueue: QUEUES.gpu,
  startToCloseTimeout: "12 hours",
  heartbeatTimeout: "60 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "1 minute", nonRetryableErrorTypes: NOT_RETRIED },
};

/** Work that only looks on, for as long as an experiment runs; a worker that dies hands it to the next. */
export function lookingOn(summary: string) {
  return proxyActivities<Pick<RecordActivities, "watch" | "awaitDrained">>({
    ...record,
    startToCloseTimeout: "365 days",
    heartbeatTimeout: HEARTBEAT,
    summary,
  });
}

export const records = proxyActivities<RecordActivities>(record);
export const sandboxes = proxyActivities<SandboxActivities>(sandbox);
export const trainer = proxyActivities<GpuActivities>(gpu);

export function withSummary(kind: "record" | "sandbox" | "gpu", summary: string): ActivityOptions {
  return { ...{ record, sandbox, gpu }[kind], summary };
}
