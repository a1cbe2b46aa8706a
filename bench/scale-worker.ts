/**
 * A worker process of the scale bench, with the limits of the stack's own: `node bench/scale-worker.ts orchestrate|work FOLDER`. `orchestrate` has the
 * project's workflows and the activities of their queue, `work` the other queues. Asked by a message, it says what it uses.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { connectWorker, temporalFromEnv } from "../infra/stack/index.ts";
import { workflowBundle } from "../workers/bundle.ts";
import { CACHED_WORKFLOWS, RECORD_SLOTS, SANDBOX_SLOTS } from "../workers/config.ts";
import { QUEUES } from "../workflows/queues.ts";
import { type RolloutCounts, scaleActivities } from "./scale-activities.ts";

export interface WorkerUse extends RolloutCounts {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly cpuSeconds: number;
}

async function use(counts: RolloutCounts): Promise<WorkerUse> {
  const { user, system } = process.cpuUsage();
  // What is only garbage, and what the allocator hands back after it, is no growth.
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(200);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rssBytes: rss, heapBytes: heapUsed, cpuSeconds: (user + system) / 1e6, ...counts };
}

async function main([role, folder]: readonly string[]): Promise<void> {
  Runtime.install({
    logger: new DefaultLogger("ERROR"),
    shutdownSignals: [],
    telemetryOptions: { logging: { filter: "ERROR", forward: {} } },
  });
  const temporal = temporalFromEnv();
  if (temporal === null || folder === undefined)
    throw new Error("expected a role, a folder, TEMPORAL_ADDRESS");
  const { activities, counts } = scaleActivities();
  const connection = await connectWorker(temporal);
  const common = { connection, namespace: temporal.namespace, activities, shutdownGraceTime: 0 };
  const { orchestrate, ...others } = QUEUES;
  const workers = await (role === "orchestrate"
    ? Promise.all([
        Worker.create({
          ...common,
          taskQueue: orchestrate,
          workflowBundle: { codePath: await workflowBundle(folder) },
          maxCachedWorkflows: CACHED_WORKFLOWS,
          maxConcurrentActivityTaskExecutions: RECORD_SLOTS,
        }),
      ])
    : Promise.all(
        Object.values(others).map((taskQueue) =>
          Worker.create({ ...common, taskQueue, maxConcurrentActivityTaskExecutions: SANDBOX_SLOTS }),
        ),
      ));
  process.on("message", () => void use(counts()).then((used) => process.send?.(used)));
  process.once("SIGTERM", () => {
    for (const worker of workers) worker.shutdown();
  });
  // Whoever started it is gone: nobody would stop it.
  process.once("disconnect", () => process.exit(0));
  const running = Promise.all(workers.map((worker) => worker.run()));
  process.send?.("ready");
  await running;
  await connection.close();
  process.disconnect?.();
}

if (import.meta.main) await main(process.argv.slice(2));
