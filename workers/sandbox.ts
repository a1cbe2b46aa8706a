/** The worker of the `sandbox` queue: synthesis, validation, rollouts and verdicts, on a host that can isolate them. */
import { join } from "node:path";
import { createSandboxActivities } from "../activities/index.ts";
import { createGrading } from "../services/grading/index.ts";
import { type CommandCache, createCommandCache } from "../services/harness/index.ts";
import { createProcessRuntime } from "../services/sandbox/index.ts";
import { createSynthesis } from "../services/synthesis/index.ts";
import { QUEUES } from "../workflows/queues.ts";
import { openWorkerProcess, runWorker } from "./common.ts";
import { SANDBOX_SLOTS } from "./config.ts";
import { environmentAccess } from "./environment-access.ts";
import { measuredSandboxes } from "./measures.ts";

/** A slot's next attempt comes within the heartbeat timeout and the retry's delay, where it waits for no hold. */
const ADOPTION_GRACE_MS = 3 * 60_000;
const SWEEP_MS = 30_000;

const commandCaches = new Map<string, CommandCache>();
function commandCacheOf(environmentKey: string): CommandCache {
  const cache = commandCaches.get(environmentKey) ?? createCommandCache();
  commandCaches.set(environmentKey, cache);
  return cache;
}

const context = await openWorkerProcess();
const { dataFolder } = context;
const runtime = measuredSandboxes(
  createProcessRuntime({ root: join(dataFolder, "sandboxes"), nodePath: process.execPath }),
  context.meter,
);
// What an earlier worker of this host left behind when it was killed; rollouts may go on in theirs for a while.
const sweep = () => runtime.reap({ now: Date.now(), graceMs: ADOPTION_GRACE_MS });
await sweep();
const sweeping = setInterval(() => void sweep().catch(console.error), SWEEP_MS);
const grading = createGrading({ runtime });
await runWorker(
  context,
  {
    taskQueue: QUEUES.sandbox,
    activities: createSandboxActivities({
      ...context.services,
      runtime,
      grading,
      synthesis: createSynthesis({
        grading,
        sandboxRuntime: runtime,
        mode: "warm",
      }),
      environments: environmentAccess({
        dataFolder,
        runTests: (request) => grading.runTests(request, "cold"),
        log: console.log,
        forget: async (key) => {
          commandCaches.delete(key);
          await grading.forget(key);
        },
      }),
      commandCache: commandCacheOf,
    }),
    maxConcurrentActivityTaskExecutions: SANDBOX_SLOTS,
  },
  [async () => clearInterval(sweeping), () => grading.close()],
);
