/** What a running experiment answers to those who steer it, on a real Temporal server. */
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hold } from "../../core/steering.ts";
import { pauseUpdate, resumeUpdate, stateQuery } from "../../workflows/messages.ts";
import { QUEUES } from "../../workflows/queues.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  policyOf,
  Recorder,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
beforeAll(async () => {
  bench = await openWorkflowBench(await bundleWorkflows());
});
afterAll(() => bench?.close());

/** A record of one hold, as services/store/holds.ts keeps it. */
function holding() {
  let standing: Hold | null = null;
  return {
    hold: ({ hold }: { readonly hold: Hold }) => {
      standing ??= hold;
      return standing;
    },
    release: () => {
      const ended = standing;
      standing = null;
      return ended;
    },
  };
}

describe("runExperiment", () => {
  it("answers each request once, across continue-as-new", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const recorder = new Recorder({
      ...holding(),
      update: async ({ scope, parent, update }) => {
        reached[scope.iteration - 1]?.resolve();
        await gates[scope.iteration - 1]?.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    bench.use(recorder);
    const handle = await bench.client.workflow.start("runExperiment", {
      workflowId: "exp/steered",
      taskQueue: QUEUES.orchestrate,
      args: [{ name: "steered", settings: changed("iterations=2") }],
    });
    await reached[0]!.promise;
    const current = bench.client.workflow.getHandle("exp/steered");
    const pause = { request: "p1", reason: "to look" };
    const hold = { kind: "user", reason: "to look" };
    expect(await current.executeUpdate(pauseUpdate, { args: [pause] })).toMatchObject({
      status: "pausing",
      hold,
      iteration: 1,
    });
    await current.executeUpdate(pauseUpdate, { args: [{ request: "p2", reason: "another" }] });
    expect((await current.query(stateQuery)).hold).toEqual(hold);
    gates[0]!.resolve();
    await reached[1]!.promise;
    expect(await current.query(stateQuery)).toMatchObject({ hold, iteration: 2 });
    expect((await current.executeUpdate(resumeUpdate, { args: [{ request: "r1" }] })).hold).toBeNull();
    // The pause of the run before, asked once more: it must not hold again.
    expect((await current.executeUpdate(pauseUpdate, { args: [pause] })).hold).toBeNull();
    expect(recorder.inputs("hold")).toHaveLength(2);
    const again = current.executeUpdate(resumeUpdate, { args: [{ request: "r2" }] });
    await expect(again).rejects.toThrow(WorkflowUpdateFailedError);
    await expect(again).rejects.toMatchObject({ cause: { message: 'experiment "steered" is not held' } });
    gates[1]!.resolve();
    await handle.result();
  });
});
