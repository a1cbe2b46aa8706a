/** The asynchronous climb: what is trained from what while groups are collected, the bound on age, and what becomes of slow ones. */
import { ApplicationFailure } from "@temporalio/common";
import { Worker, type WorkflowBundlePath } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { AdmittedTask } from "../../workflows/calibrateTask.ts";
import type { Checkpoint } from "../../workflows/climbing.ts";
import { finishEarlySignal } from "../../workflows/messages.ts";
import { QUEUES } from "../../workflows/queues.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  Recorder,
  scopeOf,
  start,
  versionsOf,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let workflowBundle: WorkflowBundlePath;
let bench: WorkflowBench;
beforeAll(async () => {
  workflowBundle = await bundleWorkflows();
  bench = await openWorkflowBench(workflowBundle);
});
afterAll(() => bench?.close());

const tasks: AdmittedTask[] = Array.from({ length: 4 }, (_, i) => ({
  taskId: `t${i}`,
  level: 2,
  environment: "a",
  probeGroup: null,
}));

/** Batches of two groups of two. */
const paced = (updates: number, maxLag: number, ...more: string[]): ExperimentSettings =>
  changed(
    ...[`climb.updates=${updates}`, `climb.maxLag=${maxLag}`, "climb.tasksPerBatch=2"],
    ...["climb.pace.kind=async", "climb.pace.trajectories=12", "selection.everyUpdates=2"],
    ...["filter.probesAsGroups=false", ...more],
  );

/** Engines have one version at a time. */
const onEngines = (settings: ExperimentSettings, onPublish: "finish" | "continue"): ExperimentSettings => ({
  ...settings,
  policy: {
    ...settings.policy,
    kind: "vllm",
    model: "/models/tiny",
    engines: {
      ...{ urls: ["http://127.0.0.1:1"], weightsFolder: null, calls: "generic" },
      ...{ turnsInFlight: 8, pausedShare: 0.5, onPublish },
    },
  },
});

const inputOf = (name: string, settings: ExperimentSettings, pool = tasks) => ({
  scope: scopeOf(name),
  settings,
  policy: start,
  tasks: pool,
});
const climb = (name: string, settings: ExperimentSettings, recorder: Recorder, on = bench) =>
  on.run<Checkpoint[]>("climbAsync", `exp/${name}/climb`, inputOf(name, settings), recorder);

/** Updates that were assembled, with the groups of each, by their names within the climb. */
const batches = (recorder: Recorder) =>
  recorder.inputs("assemble").map(({ groups }) => groups.map((key) => key.replace(/^.*\/climb\//, "")));

/** The rollouts of one group end only once `until` says so. */
function slow(name: string, until: Promise<unknown>): ConstructorParameters<typeof Recorder>[0] {
  return {
    rollout: async ({ group, member }) => {
      if (group.key.endsWith(`/climb/${name}`)) await until;
      return { key: `${group.key}/${member}`, exit: "agent", turns: 2, generatedTokens: 9 };
    },
  };
}

/** Whatever arrived first: whole batches, no group twice, no version older than the bound, each sampled by what was published. */
function expectBounded(recorder: Recorder, updates: number, maxLag: number): void {
  const assembled = recorder.inputs("assemble");
  expect(assembled.map(({ update }) => update)).toEqual(Array.from({ length: updates }, (_, i) => i + 1));
  const used = assembled.flatMap(({ groups }) => groups);
  expect(new Set(used).size).toBe(updates * 2);
  const versions = versionsOf(updates);
  for (const { update, groups, pace } of assembled) {
    expect(pace!.versions).toEqual(versions.slice(Math.max(0, update - 1 - maxLag), update));
    for (const key of groups) expect(pace!.versions).toContain(recorder.groups().get(key)!.policy.id);
  }
  const published = new Set(["start"]);
  for (const { name, input } of recorder.calls) {
    if (name === "publish") published.add((input as { policy: { id: string } }).policy.id);
    if (name === "rollout")
      expect(published).toContain((input as { group: { policy: { id: string } } }).group.policy.id);
  }
}

/** A worker that takes over from one that died reads the history, and must come to the same commands. */
async function expectReplayable(on: WorkflowBench, name: string) {
  const history = await on.client.workflow.getHandle(`exp/${name}/climb`).fetchHistory();
  await Worker.runReplayHistory({ workflowBundle }, history);
  return history;
}

describe("climbAsync", () => {
  it.each([0, 1, 3])("with lag %i makes whole batches of groups within the bound", async (lag) => {
    const recorder = new Recorder();
    const checkpoints = await climb(`bound-${lag}`, paced(5, lag), recorder);
    expectBounded(recorder, 5, lag);
    expect(recorder.inputs("update").map(({ parent }) => parent.id)).toEqual(versionsOf(5).slice(0, 5));
    expect(recorder.inputs("update").map(({ freshOptimizer }) => freshOptimizer)).toEqual([
      true,
      ...Array(4).fill(false),
    ]);
    expect(recorder.inputs("publish").at(-1)!.policy.id).toBe(versionsOf(5).at(-1));
    expect(checkpoints.map(({ update, policy }) => [update, policy.id])).toEqual(
      [2, 4, 5].map((update) => [update, versionsOf(5)[update]]),
    );
  });

  it("makes updates while a slow group runs, samples it anew once it is too old, and says so", async () => {
    const never = Promise.withResolvers<void>();
    const recorder = new Recorder(slow("1/0", never.promise));
    await climb("slow", paced(5, 1), recorder);
    never.resolve();
    expectBounded(recorder, 5, 1);
    const used = batches(recorder).flat();
    expect(used).not.toContain("1/0");
    expect(used).toContain("1/0-1");
    const anew = recorder.groups().get("slow/it/1/try/1/climb/1/0-1")!;
    const old = recorder.inputs("rollout").find(({ group }) => group.key === "slow/it/1/try/1/climb/1/0")!;
    expect(anew).toMatchObject({ taskId: old.group.taskId, seed: anew.seed });
    expect(anew.randomKeys).toEqual([1, "climb", 1, 0, 1]);
    const left = recorder.inputs("assemble").map(({ pace }) => pace!.left);
    expect(left.filter(({ refreshed }) => refreshed["too-slow"] === 1)).toHaveLength(1);
    expect(left.every(({ dropped }) => Object.keys(dropped).length === 0)).toBe(true);
    await expectReplayable(bench, "slow");
  });

  it("waits for a group that was sampled anew, whatever else is ready", async () => {
    const second = Promise.withResolvers<void>();
    const never = Promise.withResolvers<void>();
    const first = slow("1/0", never.promise)!.rollout!;
    const recorder = new Recorder({
      rollout: async (input) => {
        if (input.group.key.endsWith("/1/0-1")) await second.promise;
        return first(input);
      },
    });
    const done = climb("waited", paced(6, 1), recorder);
    await vi.waitUntil(
      () => recorder.inputs("rollout").some(({ group }) => group.key.endsWith("/1/0-1")),
      30_000,
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(recorder.inputs("assemble").length).toBeLessThan(6);
    second.resolve();
    await done;
    never.resolve();
    expectBounded(recorder, 6, 1);
    expect(batches(recorder).flat()).toContain("1/0-1");
  });

  it("drops a group that is too old where it is told to, and counts it", async () => {
    const never = Promise.withResolvers<void>();
    const recorder = new Recorder(slow("1/0", never.promise));
    await climb("dropping", paced(5, 1, "climb.pace.stale=drop"), recorder);
    never.resolve();
    expectBounded(recorder, 5, 1);
    expect(
      batches(recorder)
        .flat()
        .filter((name) => name.startsWith("1/0")),
    ).toEqual([]);
    const left = recorder.inputs("assemble").map(({ pace }) => pace!.left);
    expect(left.filter(({ dropped }) => dropped["too-slow"] === 1)).toHaveLength(1);
  });

  it("publishes to engines only when no trajectory is left that must not meet it", async () => {
    let flying = 0;
    const met: number[] = [];
    const recorder = new Recorder({
      rollout: async ({ group, member }) => {
        flying++;
        await new Promise((resolve) => setTimeout(resolve, member * 40));
        flying--;
        return { key: `${group.key}/${member}`, exit: "agent", turns: 2, generatedTokens: 9 };
      },
      publish: () => void met.push(flying),
    });
    await climb("drained", onEngines(paced(4, 1), "finish"), recorder);
    expectBounded(recorder, 4, 1);
    expect(met.length).toBeGreaterThanOrEqual(2);
    expect(met.every((count) => count === 0)).toBe(true);
  });

  it("goes by the oldest token where trajectories go on with new weights, and refuses samples of foreign ones", async () => {
    const published = ["start"];
    const recorder = new Recorder({
      publish: ({ policy }) => void published.push(policy.id),
      verify: ({ key, size, policy }) => {
        const sampledBy = key.endsWith("/2/1") ? "of-another-run" : published.at(-1)!;
        return {
          ...{ key, passes: 1, size, meanReward: 1 / size, zeroVariance: false },
          versions: { [sampledBy]: 5, [policy.id]: 4 },
        };
      },
    });
    await climb("continued", onEngines(paced(5, 1), "continue"), recorder);
    expectBounded(recorder, 5, 1);
    const used = batches(recorder).flat();
    expect(used).not.toContain("2/1");
    expect(used).toContain("2/1-1");
    const left = recorder.inputs("assemble").map(({ pace }) => pace!.left.refreshed["unknown-version"] ?? 0);
    expect(left.reduce((a, b) => a + b)).toBe(1);
  });

  it("makes no version of a batch that was dropped, and counts no lag for it", async () => {
    const recorder = new Recorder({
      assemble: ({ update, groups }) =>
        update === 2
          ? { batch: null, kept: 0, dropped: groups.length }
          : { batch: start.checkpoint, kept: groups.length, dropped: 0 },
    });
    const checkpoints = await climb("uniform", paced(4, 1), recorder);
    expect(recorder.inputs("update").map(({ update }) => update)).toEqual([1, 3, 4]);
    expect(recorder.inputs("assemble")[2]!.pace!.versions).toEqual(["start", "start+1"]);
    expect(checkpoints.at(-1)!.policy.id).toBe("start+1+3+4");
  });

  it("takes the probes as groups of the first deal", async () => {
    const recorder = new Recorder();
    const settings = paced(2, 1, "filter.probesAsGroups=true");
    const pool = tasks.map((task, i) => ({ ...task, probeGroup: `probe-${i}` }));
    const input = inputOf("probes", settings, pool);
    await bench.run("climbAsync", "exp/probes/climb", input, recorder);
    const used = recorder.inputs("assemble").flatMap(({ groups }) => groups);
    expect(used.filter((key) => key.startsWith("probe-"))).toHaveLength(2);
    expect(recorder.groups().size).toBe(2);
  });

  it("ends with the last update that its budget pays for", async () => {
    const recorder = new Recorder();
    const settings = paced(5, 1);
    const bounded = { ...settings, climb: { ...settings.climb, rolloutBudget: 14 } };
    const input = { ...inputOf("budget", bounded), spent: 5 };
    const checkpoints = await bench.run<Checkpoint[]>("climbAsync", "exp/budget/climb", input, recorder);
    expect(checkpoints.map(({ update }) => update)).toEqual([2]);
    expect(recorder.inputs("rollout")).toHaveLength(8);
  });

  it("ends early with the updates it made: the one in the making is finished, groups are cancelled", async () => {
    const never = Promise.withResolvers<void>();
    const trained = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const recorder = new Recorder({
      ...slow("3/0", never.promise),
      update: async ({ parent, update }) => {
        if (update === 2) {
          asked.resolve();
          await trained.promise;
        }
        return { ...parent, id: `${parent.id}+${update}`, parent: parent.id, step: parent.step + 1 };
      },
    });
    bench.use(recorder);
    const handle = await bench.client.workflow.start("climbAsync", {
      workflowId: "exp/early/climb",
      taskQueue: QUEUES.orchestrate,
      args: [inputOf("early", paced(20, 1))],
    });
    await asked.promise;
    await handle.signal(finishEarlySignal, { stop: true });
    trained.resolve();
    const checkpoints: Checkpoint[] = await handle.result();
    never.resolve();
    expect(checkpoints.map(({ update, policy }) => [update, policy.id])).toEqual([[2, "start+1+2"]]);
    expect(recorder.inputs("publish").at(-1)!.policy.id).toBe("start+1+2");
  });

  it("fails where a group fails for good", async () => {
    const recorder = new Recorder({
      verify: () => {
        throw ApplicationFailure.nonRetryable("the record is damaged", "BadInput");
      },
    });
    await expect(climb("failing", paced(3, 1), recorder)).rejects.toThrow();
  });
});

describe("climbAsync whose history is cut", () => {
  it("loses no group and samples none twice", async () => {
    const fragile = await openWorkflowBench(workflowBundle, [
      "--dynamic-config-value",
      "limit.historyCount.suggestContinueAsNew=40",
    ]);
    try {
      const recorder = new Recorder();
      const checkpoints = await climb("cut", paced(4, 3), recorder, fragile);
      expectBounded(recorder, 4, 3);
      expect(recorder.inputs("verify")).toHaveLength(8);
      expect(recorder.inputs("rollout")).toHaveLength(16);
      expect(recorder.inputs("update").map(({ freshOptimizer }) => freshOptimizer)).toEqual([
        true,
        ...Array(3).fill(false),
      ]);
      expect(checkpoints.map(({ update }) => update)).toEqual([2, 4]);
      const history = await expectReplayable(fragile, "cut");
      const started = history.events![0]!.workflowExecutionStartedEventAttributes!;
      expect(started.continuedExecutionRunId).toBeTruthy();
    } finally {
      await fragile.close();
    }
  });
});
