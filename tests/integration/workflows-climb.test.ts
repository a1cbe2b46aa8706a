/** The climb: who samples which group, what is trained from what, and that a long history changes nothing. */
import type { WorkflowBundlePath } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { AdmittedTask } from "../../workflows/calibrateTask.ts";
import type { Checkpoint } from "../../workflows/climbing.ts";
import type { RunIterationInput } from "../../workflows/runIteration.ts";
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

const tasks = (count: number): AdmittedTask[] =>
  Array.from({ length: count }, (_, i) => ({
    taskId: `t${i}`,
    level: 2,
    environment: "a",
    probeGroup: null,
  }));

function climb(
  name: string,
  settings: ExperimentSettings,
  recorder: Recorder,
  pool = tasks(3),
  on = bench,
): Promise<Checkpoint[]> {
  const input = { scope: scopeOf(name), settings, policy: start, tasks: pool };
  return on.run("climb", `exp/${name}/climb`, input, recorder);
}

/** Update v trains on two groups of version max(0, v − 1 − lag), each collected once, after that version was published. */
function expectSamplers(
  recorder: Recorder,
  name: string,
  updates: number,
  lag: number,
  versions: string[],
): void {
  const groups = recorder.groups();
  expect(recorder.inputs("verify")).toHaveLength(groups.size);
  const offered = recorder.inputs("assemble");
  expect(offered.map(({ update }) => update)).toEqual(Array.from({ length: updates }, (_, i) => i + 1));
  for (const { update, groups: keys } of offered) {
    expect(keys).toEqual([0, 1].map((n) => `${name}/it/1/try/1/climb/${update}/${n}`));
    for (const [n, key] of keys.entries())
      expect(groups.get(key)).toMatchObject({
        policy: { id: versions[Math.max(0, update - 1 - lag)] },
        randomKeys: [1, "climb", update, n],
        size: 2,
        phase: "climb",
      });
  }
  const rollouts = recorder.inputs("rollout");
  expect(rollouts).toHaveLength(updates * 2 * 2);
  expect(new Set(rollouts.map(({ group, member }) => `${group.key}/${member}`)).size).toBe(updates * 2 * 2);
  for (const { group } of rollouts) expect(group).toEqual(groups.get(group.key));
  const published = new Set(["start"]);
  for (const { name: activity, input } of recorder.calls) {
    if (activity === "publish") published.add((input as { policy: { id: string } }).policy.id);
    if (activity === "rollout")
      expect(published).toContain((input as { group: { policy: { id: string } } }).group.policy.id);
  }
}

describe("climb", () => {
  const lagged = (updates: number, lag: number) =>
    changed(
      `climb.updates=${updates}`,
      `climb.maxLag=${lag}`,
      "selection.everyUpdates=2",
      "filter.probesAsGroups=false",
    );

  it.each([0, 1, 3])(
    "with lag %i samples update v by version max(0, v − 1 − lag) and trains the latest policy, its optimizer fresh once",
    async (lag) => {
      const recorder = new Recorder();
      const name = `lag-${lag}`;
      const checkpoints = await climb(name, lagged(5, lag), recorder);
      const versions = versionsOf(5);
      expectSamplers(recorder, name, 5, lag, versions);
      expect(recorder.inputs("update").map(({ parent }) => parent.id)).toEqual(versions.slice(0, 5));
      expect(recorder.inputs("update").map(({ freshOptimizer }) => freshOptimizer)).toEqual([
        true,
        false,
        false,
        false,
        false,
      ]);
      expect(recorder.inputs("publish").map(({ policy }) => policy.id)).toEqual(versions.slice(1));
      expect(checkpoints.map(({ update, policy }) => [update, policy.id])).toEqual(
        [2, 4, 5].map((update) => [update, versions[update]]),
      );
    },
  );

  it.each([0, 1])(
    "with lag %i makes no update of a batch that was dropped, and goes on from the policy it had",
    async (lag) => {
      const skipped = [1, 3];
      const recorder = new Recorder({
        assemble: ({ update, groups }) =>
          skipped.includes(update)
            ? { batch: null, kept: 0, dropped: groups.length }
            : { batch: start.checkpoint, kept: groups.length, dropped: 0 },
      });
      const name = `dropped-${lag}`;
      const checkpoints = await climb(name, lagged(5, lag), recorder);
      const versions = versionsOf(5, skipped);
      expect(versions.at(-1)).toBe("start+2+4+5");
      expectSamplers(recorder, name, 5, lag, versions);
      expect(
        recorder
          .inputs("update")
          .map(({ update, parent, freshOptimizer }) => [update, parent.id, freshOptimizer]),
      ).toEqual([
        [2, "start", true],
        [4, "start+2", false],
        [5, "start+2+4", false],
      ]);
      expect(recorder.inputs("publish")).toHaveLength(3);
      expect(checkpoints.at(-1)!.policy.id).toBe("start+2+4+5");
    },
  );

  it("publishes to engines, which have one version at a time, once all that is in progress has ended", async () => {
    let flying = 0;
    const met: number[] = [];
    const recorder = new Recorder({
      rollout: async ({ group, member }) => {
        flying++;
        await new Promise((resolve) => setTimeout(resolve, 50 + member * 50));
        flying--;
        return { key: `${group.key}/${member}`, exit: "agent", turns: 2, generatedTokens: 9 };
      },
      publish: () => void met.push(flying),
    });
    const settings = lagged(3, 1);
    const engines = {
      urls: ["http://127.0.0.1:1"],
      weightsFolder: null,
      calls: "generic",
      turnsInFlight: 8,
      pausedShare: 0.5,
      onPublish: "finish",
    } as const;
    const policy = { ...settings.policy, kind: "vllm", model: "/models/tiny", engines } as const;
    await climb("engines", { ...settings, policy }, recorder);
    // The start policy too: whoever begins to sample by a policy publishes it.
    expect(met).toEqual([0, 0, 0, 0]);
    expect(recorder.inputs("publish").map(({ policy }) => policy.id)).toEqual(versionsOf(3));
  });

  it("takes the probes as groups of update 1 alone", async () => {
    const recorder = new Recorder();
    const pool = tasks(2).map((task, i) => ({ ...task, probeGroup: i === 0 ? "probe-0" : null }));
    await climb("probes", changed("climb.updates=3", "filter.probesAsGroups=true"), recorder, pool);
    const [first, ...later] = recorder.inputs("assemble").map(({ groups }) => groups);
    expect(first).toHaveLength(2);
    expect(first).toContain("probe-0");
    expect(later.flat()).not.toContain("probe-0");
    const keys = [...recorder.groups().keys()].sort();
    const own = first!.filter((key) => key !== "probe-0");
    expect(keys).toEqual([...own, ...later.flat()].sort());
    expect(recorder.groups().get(own[0]!)!.taskId).toBe("t1");
  });

  it("collects nothing twice when its history is cut in between", async () => {
    const short = await openWorkflowBench(workflowBundle, [
      "--dynamic-config-value",
      "limit.historyCount.suggestContinueAsNew=40",
    ]);
    try {
      const recorder = new Recorder();
      const checkpoints = await climb("cut", lagged(8, 3), recorder, tasks(3), short);
      const versions = versionsOf(8);
      expectSamplers(recorder, "cut", 8, 3, versions);
      expect(recorder.inputs("update").map(({ parent }) => parent.id)).toEqual(versions.slice(0, 8));
      expect(recorder.inputs("update").map(({ freshOptimizer }) => freshOptimizer)).toEqual([
        true,
        ...Array(7).fill(false),
      ]);
      expect(checkpoints.map(({ update, policy }) => [update, policy.id])).toEqual(
        [2, 4, 6, 8].map((update) => [update, versions[update]]),
      );
      const last = await short.client.workflow.getHandle("exp/cut/climb").fetchHistory();
      const [started] = last.events!;
      expect(started!.workflowExecutionStartedEventAttributes!.continuedExecutionRunId).toBeTruthy();
    } finally {
      await short.close();
    }
  });
});

describe("runExperiment", () => {
  it("climbs on the first iteration's pool where it is frozen, and draws nothing for it", async () => {
    const pool = [
      { taskId: "t1", environment: "a", level: 3, passRate: 0.25 },
      { taskId: "t0", environment: "b", level: null, passRate: null },
    ];
    const recorder = new Recorder({ findPool: () => pool });
    const settings = changed("iterations=3", "climb.updates=1", "ablation=frozen-pool");
    await bench.run("runExperiment", "exp/frozen", { name: "frozen", settings }, recorder);
    expect(recorder.inputs("findPool")).toEqual(
      [1, 1].map((iteration) => ({ experiment: "frozen", iteration })),
    );
    const pools = recorder.inputs("synthesise").filter(({ choice }) => choice === "random");
    expect(new Set(pools.map(({ scope }) => scope?.iteration))).toEqual(new Set([1]));
    const climbed = recorder
      .inputs("verify")
      .filter(({ phase, scope }) => phase === "climb" && scope.iteration > 1)
      .map(({ scope, taskId, level }) => `${scope.iteration}: ${taskId} at ${level}`);
    // What no probe chose a level for has the first one.
    expect(climbed.sort()).toEqual(["2: t0 at 2", "2: t1 at 3", "3: t0 at 2", "3: t1 at 3"]);
    const pinned = recorder.inputs("recordIteration").map((record) => record.pinned as RunIterationInput);
    expect(pinned.find(({ scope }) => scope.iteration === 1)!.pool).toBeUndefined();
    expect(pinned.find(({ scope }) => scope.iteration === 2)!.pool!.map(({ taskId }) => taskId)).toEqual([
      "t1",
      "t0",
    ]);
  });
});
