import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bundleWorkflowCode, Worker, type WorkflowBundle } from "@temporalio/worker";
import { beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";

const folder = join(import.meta.dirname, "histories");
const histories = readdirSync(folder).filter((file) => file.endsWith(".json.gz"));
let workflowBundle: WorkflowBundle;

beforeAll(async () => {
  workflowBundle = await bundleWorkflowCode({ workflowsPath: join(packageRoot, "workflows/index.ts") });
});

describe("stored histories", () => {
  it("cover every workflow", () => {
    const workflows = [
      "calibrateTask",
      "climb",
      "climbAsync",
      "collectGroup",
      "evaluatePolicy",
      "fillTaskPool",
      "prepareTaskSet",
      "reapSandboxes",
      "runExperiment",
      "runIteration",
      "scheduledRun",
    ];
    expect([...new Set(histories.map((file) => file.split(".")[0]))].sort()).toEqual(workflows);
  });

  it.each(histories)("%s replays: a running experiment survives this code", async (file) => {
    const history = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString("utf8"));
    await Worker.runReplayHistory({ workflowBundle }, history);
  });

  it("would not replay with another order of commands", async () => {
    const file = histories.find((name) => name.startsWith("collectGroup"))!;
    const history = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString("utf8"));
    const scheduled = history.events.find(
      (event: { eventType: string }) => event.eventType === "EVENT_TYPE_ACTIVITY_TASK_SCHEDULED",
    );
    scheduled.activityTaskScheduledEventAttributes.activityType.name = "other";
    await expect(Worker.runReplayHistory({ workflowBundle }, history)).rejects.toThrow(/[Nn]ondeterminism/);
  });
});
