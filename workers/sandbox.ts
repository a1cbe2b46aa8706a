/** The worker of the `sandbox` queue: synthesis, validation, rollouts and verdicts, on a host that can isolate them. */
import { createSandboxActivities } from "../activities/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { openWorkerProcess, runWorker } from "./common.ts";
import { SANDBOX_SLOTS } from "./config.ts";
import { sandboxKits } from "./sandbox-kits.ts";

/** A slot's next attempt comes within the heartbeat timeout and the retry's delay, where it waits for no hold. */
const ADOPTION_GRACE_MS = 3 * 60_000;
const SWEEP_MS = 30_000;

const context = await openWorkerProcess();
const kits = sandboxKits(context.dataFolder, context.meter);
// What an earlier worker of this host left behind when it was killed; rollouts may go on in theirs for a while.
const sweep = async () => {
  for (const runtime of kits.runtimes) await runtime.reap({ now: Date.now(), graceMs: ADOPTION_GRACE_MS });
};
await sweep();
const sweeping = setInterval(() => void sweep().catch(console.error), SWEEP_MS);
await runWorker(
  context,
  {
    taskQueue: QUEUES.sandbox,
    activities: createSandboxActivities(context.services, kits.of),
    maxConcurrentActivityTaskExecutions: SANDBOX_SLOTS,
  },
  [async () => clearInterval(sweeping), kits.close],
);
