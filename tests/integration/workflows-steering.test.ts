/** What a running experiment answers to those who steer it, on a real Temporal server. */
import { Context } from "@temporalio/activity";
import { WorkflowUpdateFailedError } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hold, Request, SkipRequest } from "../../core/steering.ts";
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
      status: expect.stringMatching(/^paus(ing|ed)$/),
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

  it("refuses an amendment with which the settings of a coming iteration would not fit, and names the field", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      update: async ({ scope, parent, update }) => {
        reached.resolve();
        if (scope.iteration === 1) await gate.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    const band = "overrides=[{fromIteration: 2, filter: {band: {low: 0.2, high: 0.9}}}]";
    const handle = await started("unfitting", recorder, "iterations=2", band);
    await reached.promise;
    const current = bench.client.workflow.getHandle("exp/unfitting");
    const amend = (request: string, path: string, value: number) =>
      current.executeUpdate(amendUpdate, { args: [{ request, path, value }] });
    const refusals = [
      ["filter.band.low", 1, "filter.band.low: expected at most filter.band.high (0.9), found 1"],
      ["filter.band.low", 0.95, "filter.band.low: expected at most filter.band.high (0.9), found 0.95"],
      [
        "synthesis.maxCandidates",
        1,
        "synthesis.maxCandidates: expected at least synthesis.poolTasks (2), found 1",
      ],
    ] as const;
    for (const [path, value, message] of refusals)
      await expect(amend(`${path}=${value}`, path, value)).rejects.toMatchObject({
        cause: { message: `${message} in iteration 2` },
      });
    const [amendment] = (await amend("a1", "filter.band.low", 0.05)).amendments;
    expect(amendment).toMatchObject({ value: 0.05, old: 0.2, fromIteration: 2 });
    gate.resolve();
    await handle.result();
    expect(recorder.inputs("amend")).toHaveLength(1);
    const bands = recorder.inputs("filter").map(({ group, filter }) => [group.scope.iteration, filter.band]);
    expect(bands).toContainEqual([1, { low: 0.01, high: 0.99 }]);
    expect(bands.filter(([iteration]) => iteration === 2)).toContainEqual([2, { low: 0.05, high: 0.9 }]);
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
        if (!recordScope.startsWith("set/") && candidate.index >= 2) {
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

  it("skips the rest of the selection: the best of the checkpoints that were measured", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      evaluate: async ({ mode, groups }) => {
        if (mode.startsWith("validation")) {
          reached.resolve();
          await gate.promise;
        }
        return { tasks: groups.length, samples: 1, passAt1: 0.5, low: 0, high: 1 };
      },
    });
    const handle = await started("unselected", recorder, "climb.updates=3", "selection.everyUpdates=1");
    await reached.promise;
    const current = bench.client.workflow.getHandle("exp/unselected");
    await current.executeUpdate(skipUpdate, { args: [{ request: "k1" }] });
    gate.resolve();
    expect(await handle.result()).toMatchObject({ id: "start+1" });
    const validations = recorder.inputs("evaluate").filter(({ mode }) => mode.startsWith("validation"));
    expect(validations.map(({ policy }) => policy)).toEqual(["start+1"]);
  });

  it.each(["stop", "skip"] as const)("a %s between two phases ends the one that begins", async (verb) => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      recordIteration: async ({ status }) => {
        if (status !== "climb") return;
        reached.resolve();
        await gate.promise;
      },
    });
    const handle = await started(`between-${verb}`, recorder);
    await reached.promise;
    const current = bench.client.workflow.getHandle(`exp/between-${verb}`);
    const args: [Request] = [{ request: "b1" }];
    await current.executeUpdate(verb === "stop" ? stopUpdate : skipUpdate, { args });
    gate.resolve();
    expect(await handle.result()).toMatchObject({ id: "start" });
    expect(recorder.inputs("update")).toHaveLength(0);
  });

  it("skips the phase that a skip names, and no other", async () => {
    const [over, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [updating, updated] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const recorder = new Recorder({
      recordIteration: async ({ status }) => {
        if (status !== "climb") return;
        over.resolve();
        await gate.promise;
      },
      update: async ({ parent, update }) => {
        updating.resolve();
        await updated.promise;
        return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
      },
    });
    const handle = await started("named", recorder, "climb.updates=3");
    const current = bench.client.workflow.getHandle("exp/named");
    const skip = (request: string, phase: string) =>
      current.executeUpdate(skipUpdate, {
        args: [{ request, phase: phase as SkipRequest["phase"] & string }],
      });
    const refused = (message: string) => ({ cause: { type: "BadInput", message } });
    await over.promise;
    await expect(skip("k1", "rest")).rejects.toMatchObject(
      refused("phase: expected one of pool, climb, selection, evaluation"),
    );
    await expect(skip("k1", "climb")).rejects.toMatchObject(
      refused("phase: iteration 1 is in pool, not in climb; nothing was skipped"),
    );
    // The pool is over, but the iteration has not said so yet: the climb must not be ended in its place.
    await skip("k1", "pool");
    gate.resolve();
    await updating.promise;
    await expect(skip("k2", "pool")).rejects.toMatchObject(
      refused("phase: iteration 1 is in climb, not in pool; nothing was skipped"),
    );
    // Answered once, and again whatever runs now.
    expect(await skip("k1", "pool")).toMatchObject({ phase: "climb" });
    await skip("k3", "climb");
    updated.resolve();
    expect(await handle.result()).toMatchObject({ id: "start+1" });
    expect(recorder.inputs("update")).toHaveLength(1);
  });

  it("is looked after on a queue of its own, however many there are", async () => {
    const queues = new Map<string, string>();
    const noting = (name: string) => () => void queues.set(name, Context.current().info.taskQueue);
    const rest = Promise.withResolvers<void>();
    const recorder = new Recorder({
      ...holding(),
      watch: () => {
        noting("watch")();
        return { kind: "stall", reason: "nothing was recorded" };
      },
      awaitDrained: () => {
        noting("awaitDrained")();
        rest.resolve();
      },
      findIteration: () => {
        noting("findIteration")();
        return null;
      },
    });
    const handle = await started("looked-after", recorder);
    await rest.promise;
    await handle.result();
    expect(Object.fromEntries(queues)).toEqual({
      watch: QUEUES.watch,
      awaitDrained: QUEUES.watch,
      findIteration: QUEUES.orchestrate,
    });
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
