/** What a running experiment answers to those who steer it, on a real Temporal server. */
import { Context } from "@temporalio/activity";
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hold } from "../../core/steering.ts";
import {
  amendUpdate,
  pauseUpdate,
  resumeUpdate,
  skipUpdate,
  stateQuery,
  stopUpdate,
} from "../../workflows/messages.ts";
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

  async function started(name: string, recorder: Recorder, ...overrides: string[]) {
    bench.use(recorder);
    return bench.client.workflow.start("runExperiment", {
      workflowId: `exp/${name}`,
      taskQueue: QUEUES.orchestrate,
      args: [{ name, settings: changed(...overrides) }],
    });
  }

  it("amends what may be amended, from the next iteration on, and says the old value", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      update: async ({ scope, parent, update }) => {
        reached.resolve();
        if (scope.iteration === 1) await gate.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    const handle = await started("amended", recorder, "iterations=2", "climb.updates=3");
    await reached.promise;
    const current = bench.client.workflow.getHandle("exp/amended");
    const amend = (request: string, path: string, value: number | boolean) =>
      current.executeUpdate(amendUpdate, { args: [{ request, path, value }] });
    const amendment = { path: "climb.updates", value: 1, old: 3, fromIteration: 2 };
    expect((await amend("a1", "climb.updates", 1)).amendments).toMatchObject([amendment]);
    expect((await amend("a1", "climb.updates", 1)).amendments).toHaveLength(1);
    await expect(amend("a2", "seed", 3)).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/^seed is fixed while an experiment runs/) },
    });
    await expect(amend("a3", "iterations", 0)).rejects.toMatchObject({
      cause: { message: "iterations: expected a whole number of at least 1" },
    });
    gate.resolve();
    await handle.result();
    const updates = recorder.inputs("update").map(({ scope, update }) => `${scope.iteration}.${update}`);
    expect(updates).toEqual(["1.1", "1.2", "1.3", "2.1"]);
    expect(recorder.inputs("amend")).toHaveLength(1);
  });

  it("stops in the climb: the update in hand is kept, the best checkpoint selected, nothing evaluated", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      update: async ({ parent, update }) => {
        reached.resolve();
        await gate.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    const handle = await started("stopped", recorder, "iterations=2", "climb.updates=3");
    await reached.promise;
    const before = recorder.inputs("evaluate").length;
    const current = bench.client.workflow.getHandle("exp/stopped");
    expect(await current.executeUpdate(stopUpdate, { args: [{ request: "s1" }] })).toMatchObject({
      status: "stopping",
      iteration: 1,
    });
    gate.resolve();
    expect(await handle.result()).toMatchObject({ id: "start+1" });
    expect(recorder.inputs("update")).toHaveLength(1);
    expect(recorder.inputs("evaluate")).toHaveLength(before);
    expect(recorder.inputs("recordExperiment").at(-1)).toMatchObject({
      status: "stopped",
      policy: { id: "start+1" },
    });
  });

  it("skips the rest of the pool, then goes on with what was admitted", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      // Like an activity that heartbeats: cancelled with its workflow.
      validate: async ({ candidate, recordScope }) => {
        if (!recordScope.startsWith("set/") && candidate.index >= 4) {
          reached.resolve();
          await Promise.race([gate.promise, Context.current().cancelled]);
        }
        return { taskId: `${recordScope}:${candidate.key}`, rejectedBy: null };
      },
    });
    const handle = await started("skipped", recorder, "synthesis.poolTasks=4");
    await reached.promise;
    const current = bench.client.workflow.getHandle("exp/skipped");
    await current.executeUpdate(skipUpdate, { args: [{ request: "k1" }] });
    await handle.result();
    gate.resolve();
    const pools = recorder.inputs("recordIteration").filter(({ pool }) => pool !== null);
    expect(pools.at(-1)).toMatchObject({ status: "finished", pool: { admitted: 2 } });
    expect(recorder.inputs("update").length).toBeGreaterThan(0);
  });

  it("says so when all has come to rest", async () => {
    const rest = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const recorder = new Recorder({
      ...holding(),
      // A watchdog's.
      watch: () => ({ kind: "stall", reason: "nothing was recorded for 60 minutes" }),
      awaitDrained: () => rest.promise,
      update: async ({ parent, update }) => {
        await gate.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    const handle = await started("at-rest", recorder);
    const hold = { kind: "stall", reason: "nothing was recorded for 60 minutes" };
    await expect
      .poll(() => handle.query(stateQuery), { timeout: 20_000 })
      .toMatchObject({ status: "pausing", hold });
    rest.resolve();
    await expect
      .poll(() => handle.query(stateQuery), { timeout: 20_000 })
      .toMatchObject({ status: "paused", hold });
    gate.resolve();
    await handle.result();
  });
});
