/** Timeouts and retries of every activity, by reliability class, and how long a history may grow. Nowhere else. */
import { type ActivityOptions, proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { HostActivities } from "../activities/reapSandboxes.ts";
import type {
  Activities,
  GpuActivities,
  RecordActivities,
  SandboxActivities,
  WatchActivities,
} from "../activities/types.ts";
import { clipped } from "../core/descriptions.ts";
import { NOT_RETRIED } from "../core/failures.ts";
import { QUEUES } from "./queues.ts";
import { SENTENCES } from "./sentences.ts";

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
  startToCloseTimeout: "12 hours",
  heartbeatTimeout: "60 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "1 minute", nonRetryableErrorTypes: NOT_RETRIED },
};

/** Work that only looks on, for as long as an experiment runs; a worker that dies hands it to the next. */
const watch: ActivityOptions = {
  ...record,
  taskQueue: QUEUES.watch,
  startToCloseTimeout: "365 days",
  heartbeatTimeout: HEARTBEAT,
};

/** Each call says in the Temporal UI what it does. */
function speaking<A extends Partial<Activities>>(options: ActivityOptions): A {
  return new Proxy({} as A, {
    get: (_, verb: keyof Activities) => (input: never) => {
      const summary = clipped((SENTENCES[verb] as (input: never) => string)(input));
      const activities = proxyActivities<Activities>({ ...options, summary });
      return (activities[verb] as (input: never) => unknown)(input);
    },
  });
}

export const records = speaking<RecordActivities>(record);
export const watchers = speaking<WatchActivities>(watch);
export const sandboxes = speaking<SandboxActivities>(sandbox);

export function trainersOn(taskQueue: string): GpuActivities {
  return speaking<GpuActivities>({ ...gpu, taskQueue });
}

/** For short work on the record whose verbs are not the loop's. */
export function withSummary(summary: string): ActivityOptions {
  return { ...record, summary: clipped(summary) };
}

/** Work on one host, on a queue that only its workers serve; it fails when none does for ten minutes. */
export function onHost(queue: string, summary: string): HostActivities {
  return proxyActivities<HostActivities>({
    taskQueue: queue,
    scheduleToCloseTimeout: "10 minutes",
    heartbeatTimeout: HEARTBEAT,
    retry: { initialInterval: "1 second", maximumInterval: "1 minute" },
    summary: clipped(summary),
  });
}

/** Events that no history passes: a worker that has lost its cache reads all of them before it goes on. */
export const HISTORY_LIMIT = 4096;

/** Events of a child workflow in its parent's history: initiated, started, completed, a workflow task for each of the last two. */
export const CHILD_EVENTS = 9;

/** Events of an activity: scheduled, started, completed, and the workflow task that reads the result. */
export const ACTIVITY_EVENTS = 6;

/**
 * True when it is time to start nothing more, see what is in flight to its end, and continue as new. `ahead` = events that what can be in
 * flight may still add. The server's own suggestion counts too: it also knows the bytes.
 */
export function historyIsLong(ahead: number): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  // However wide the window, a run does some work before it hands over.
  return continueAsNewSuggested || historyLength >= Math.max(HISTORY_LIMIT / 4, HISTORY_LIMIT - ahead);
}
