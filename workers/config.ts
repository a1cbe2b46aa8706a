/** Slots of each worker process. Queue names are in `workflows/queues.ts`, timeouts in `workflows/config.ts`. */
import { availableParallelism } from "node:os";

/** Rollouts, gradings and validations at once on one sandbox host; each keeps about one core busy with short commands. */
export const SANDBOX_SLOTS = Number(process.env.TADPOLE_SANDBOX_SLOTS ?? Math.max(4, availableParallelism()));

/** One training session per GPU worker. */
export const GPU_SLOTS = 1;

/** As long as an update may take (`workflows/config.ts`): one that waits for it. */
export const DRAIN_TIME = "12 hours";

/** Short work on the record. */
export const RECORD_SLOTS = 8;

/** Experiments at once that are looked after: each takes a slot for as long as it runs, to ask the record every two seconds. */
export const WATCH_SLOTS = 1000;

/** Workflows kept in memory by the orchestrator: more than run at once on a laptop, few enough to stay small. */
export const CACHED_WORKFLOWS = 100;
