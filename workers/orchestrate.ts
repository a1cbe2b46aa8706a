/** The worker of the `orchestrate` queue: every workflow, and the short activities on the record. */
import { createRecordActivities } from "../activities/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { workflowBundle } from "./bundle.ts";
import { openWorkerProcess, runWorker } from "./common.ts";
import { CACHED_WORKFLOWS, RECORD_SLOTS } from "./config.ts";

const context = await openWorkerProcess();
await runWorker(context, {
  taskQueue: QUEUES.orchestrate,
  workflowBundle: { codePath: await workflowBundle(context.dataFolder) },
  activities: createRecordActivities(context.services),
  maxCachedWorkflows: CACHED_WORKFLOWS,
  maxConcurrentActivityTaskExecutions: RECORD_SLOTS,
});
