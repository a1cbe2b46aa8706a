/** The worker of the `orchestrate` queue: every workflow, and the short activities on the record; and of the `watch` queue, which looks after them. */
import { ScheduleNotFoundError } from "@temporalio/client";
import {
  createRecordActivities,
  createScheduleActivities,
  createWatchActivities,
} from "../activities/index.ts";
import { codeVersion } from "../infra/stack/code-version.ts";
import { connectTemporal, temporalFromEnv, workerVersioning } from "../infra/stack/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { buildId, workflowBundle } from "./bundle.ts";
import { openWorkerProcess, runWorker, setting } from "./common.ts";
import { CACHED_WORKFLOWS, RECORD_SLOTS, WATCH_SLOTS } from "./config.ts";
import { startGauges } from "./gauges.ts";
import { startedActivities } from "./started-activities.ts";
import { deploymentOptions, makeCurrent } from "./versioning.ts";

const versioning = await setting(workerVersioning);
const context = await openWorkerProcess();
const { client, connection } = await connectTemporal(temporalFromEnv()!);
const schedules = createScheduleActivities({
  db: context.services.db,
  codeVersion: await codeVersion(),
  pauseSchedule: async (schedule, note) => {
    await client.schedule
      .getHandle(schedule)
      .pause(note)
      .catch((error: unknown) => {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      });
  },
});
const build = buildId();
const stopGauges = startGauges(context.meter, context.services.db, context.dataFolder, build);
const record = createRecordActivities(context.services);
const watching = createWatchActivities({
  ...context.services,
  startedActivities: (experiment) => startedActivities(client, experiment),
});
await runWorker(
  context,
  [
    {
      ...(versioning ? { workerDeploymentOptions: deploymentOptions(versioning, build) } : {}),
      taskQueue: QUEUES.orchestrate,
      workflowBundle: { codePath: await workflowBundle(context.dataFolder) },
      activities: { ...record, ...schedules },
      maxCachedWorkflows: CACHED_WORKFLOWS,
      maxConcurrentActivityTaskExecutions: RECORD_SLOTS,
    },
    {
      taskQueue: QUEUES.watch,
      activities: watching,
      maxConcurrentActivityTaskExecutions: WATCH_SLOTS,
    },
  ],
  [stopGauges, () => connection.close()],
  async () => {
    // One that only finishes what is pinned to its build leaves the current version as it is.
    if (process.env.TADPOLE_WORKER_DRAINS !== "1")
      await makeCurrent(client, context.namespace, versioning && build);
  },
);
