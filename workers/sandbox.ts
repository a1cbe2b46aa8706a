/** The worker of the `sandbox` queue: synthesis, validation, rollouts and verdicts, on a host that can isolate them. */
import { createHostActivities, createSandboxActivities } from "../activities/index.ts";
import { connectTemporal, hostOptions, temporalFromEnv } from "../infra/stack/index.ts";
import { createHostImages, reapSandboxes } from "../services/sandbox/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { openWorkerProcess, runWorker, setting } from "./common.ts";
import { SANDBOX_SLOTS } from "./config.ts";
import { ADOPTION_GRACE_MS, reapingOf, scheduleReaping } from "./reaping.ts";
import { sandboxKits } from "./sandbox-kits.ts";

const context = await openWorkerProcess();
const { client, connection } = await connectTemporal(temporalFromEnv()!);
const host = { ...(await setting((env) => hostOptions(context.dataFolder, env))), say: console.log };
const kits = sandboxKits(host, context.meter);
const reaping = reapingOf(host.dataFolder);
// What an earlier worker of this host left behind when it was killed; rollouts may go on in theirs for a while.
await reapSandboxes(kits.runtimes, { now: Date.now(), graceMs: ADOPTION_GRACE_MS });
await runWorker(
  context,
  [
    {
      taskQueue: QUEUES.sandbox,
      activities: createSandboxActivities(context.services, kits.of),
      maxConcurrentActivityTaskExecutions: SANDBOX_SLOTS,
    },
    {
      taskQueue: reaping.queue,
      activities: createHostActivities({
        runtimes: kits.runtimes,
        images: createHostImages(host),
        graceMs: ADOPTION_GRACE_MS,
      }),
      maxConcurrentActivityTaskExecutions: 1,
    },
  ],
  [kits.close, () => connection.close()],
  () => scheduleReaping(client, reaping),
);
