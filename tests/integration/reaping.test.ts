/** The schedule of a sandbox host, on a real Temporal server and with real sandboxes that a killed worker left. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHostActivities } from "../../activities/index.ts";
import { createHostImages, createRuntime } from "../../services/sandbox/index.ts";
import { reapingOf, scheduleReaping } from "../../workers/reaping.ts";
import { QUEUES } from "../../workflows/queues.ts";
import { killedCrowd } from "../support/killed-crowd.ts";
import { startTestTemporal } from "../support/temporal.ts";
import { bundleWorkflows } from "./workflows-recorder.ts";

let dataFolder: string;
let environment: TestWorkflowEnvironment;
let running: Promise<unknown>;
let workers: Worker[];
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  dataFolder = mkdtempSync(join(tmpdir(), "reaping-"));
  environment = await startTestTemporal();
  const { nativeConnection: connection } = environment;
  const host = { dataFolder, nodePath: process.execPath };
  workers = await Promise.all([
    Worker.create({ connection, taskQueue: QUEUES.orchestrate, workflowBundle: await bundleWorkflows() }),
    Worker.create({
      connection,
      taskQueue: reapingOf(dataFolder).queue,
      activities: createHostActivities({
        runtimes: [createRuntime("process", host)],
        images: createHostImages(host),
        graceMs: 0,
      }),
    }),
  ]);
  running = Promise.all(workers.map((worker) => worker.run()));
});
afterAll(async () => {
  for (const worker of workers ?? []) worker.shutdown();
  await running;
  await environment?.teardown();
  rmSync(dataFolder, { recursive: true, force: true });
});

const handle = () => environment.client.schedule.getHandle(reapingOf(dataFolder).schedule);

/** What the first run that the schedule starts from now on comes to. */
async function triggered(): Promise<unknown> {
  const before = (await handle().describe()).info.recentActions.length;
  await handle().trigger();
  for (;;) {
    const { recentActions } = (await handle().describe()).info;
    const started = recentActions[before]?.action.workflow;
    if (started !== undefined)
      return environment.client.workflow.getHandle(started.workflowId, started.firstExecutionRunId).result();
    await sleep(50);
  }
}

describe("the schedule of a sandbox host", () => {
  it("removes what a killed worker left there", async () => {
    const nothing = { removed: 0, left: 0, imageBytes: 0, imagesRemoved: [], problems: [] };
    const source = join(dataFolder, "source");
    mkdirSync(source);
    writeFileSync(join(source, "a"), "a");
    await killedCrowd({ runtime: "process", dataFolder, source, count: 4 });
    await scheduleReaping(environment.client, reapingOf(dataFolder));
    expect(await triggered()).toEqual({ ...nothing, removed: 4 });
    expect(await triggered()).toEqual(nothing);
  });

  it("runs again, as the only one, once a worker starts after it was paused", async () => {
    await handle().pause("nobody served the host");
    await scheduleReaping(environment.client, reapingOf(dataFolder));
    const { state, spec, policies } = await handle().describe();
    expect(state).toMatchObject({ paused: false, note: expect.stringContaining(dataFolder) });
    expect(spec.intervals).toMatchObject([{ every: 120_000 }]);
    expect(policies).toMatchObject({ overlap: "SKIP", pauseOnFailure: true });
  });

  it("is of one host and one data folder", () => {
    const here = reapingOf("/data", "host");
    expect(reapingOf("/data", "host")).toEqual(here);
    for (const other of [reapingOf("/data", "other"), reapingOf("/other", "host")]) {
      expect(other.queue).not.toBe(here.queue);
      expect(other.schedule).not.toBe(here.schedule);
    }
  });
});
