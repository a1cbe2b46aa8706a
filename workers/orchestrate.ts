/** The worker of the `orchestrate` queue: every workflow, and the short activities on the record. */
import { ScheduleNotFoundError } from "@temporalio/client";
import { createRecordActivities, createScheduleActivities } from "../activities/index.ts";
import { codeVersion } from "../infra/stack/code-version.ts";
import { connectTemporal, temporalFromEnv } from "../infra/stack/temporal.ts";
import { QUEUES } from "../workflows/queues.ts";
import { workflowBundle } from "./bundle.ts";
import { openWorkerProcess, runWorker } from "./common.ts";
import { CACHED_WORKFLOWS, RECORD_SLOTS } from "./config.ts";
import { startedActivities } from "./started-activities.ts";

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
await runWorker(
  context,
  {
    taskQueue: QUEUES.orchestrate,
    workflowBundle: { codePath: await workflowBundle(context.dataFolder) },
    activities: {
      ...createRecordActivities({
        ...context.services,
        startedActivities: (experiment) => startedActivities(client, experiment),
      }),
      ...schedules,
    },
    maxCachedWorkflows: CACHED_WORKFLOWS,
    maxConcurrentActivityTaskExecutions: RECORD_SLOTS,
  },
  [() => connection.close()],
);
