/** What the workflows around the climb decide: which tasks are admitted, what is measured and chosen, what is carried on. */
import { defaultPayloadConverter } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { CalibrateTaskOutput } from "../../workflows/calibrateTask.ts";
import type { TaskPool } from "../../workflows/fillTaskPool.ts";
import type { RunExperimentInput } from "../../workflows/runExperiment.ts";
import type { RunIterationInput, RunIterationOutput } from "../../workflows/runIteration.ts";
import {
  bundleWorkflows,
  candidateOf,
  changed,
  openWorkflowBench,
  policyOf,
  Recorder,
  scopeOf,
  smallest,
  start,
  versionsOf,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
beforeAll(async () => {
  bench = await openWorkflowBench(await bundleWorkflows());
});
afterAll(() => bench?.close());

describe("calibrateTask", () => {
  const calibrate = (name: string, recorder: Recorder, settings = smallest) =>
    bench.run<CalibrateTaskOutput>(
      "calibrateTask",
      `exp/${name}/task/7`,
      { scope: scopeOf(name), candidate: candidateOf(7), policy: start, settings },
      recorder,
    );

  it("probes the level that the filter asks for next, and tells it the levels it has probed", async () => {
    const recorder = new Recorder({
      filter: ({ level }) => (level === 2 ? { action: "refine", level: 3 } : { action: "admit" }),
      verify: ({ key, size, level }) => ({
        key,
        passes: level - 2,
        size,
        meanReward: 0,
        zeroVariance: false,
      }),
    });
    const taskId = "refined/it/1/try/1:key-7";
    expect(await calibrate("refined", recorder)).toEqual({
      admitted: {
        taskId,
        environment: "a",
        level: 3,
        probeGroup: "refined/it/1/try/1/task/7/probe/1",
        passRate: 0.5,
      },
      refinements: 1,
      reason: null,
      passes: 1,
      failure: null,
      rollouts: 4,
    });
    expect(recorder.inputs("validate")).toMatchObject([{ level: 2, recordScope: "refined/it/1/try/1" }]);
    expect(recorder.inputs("refine")).toEqual([{ taskId, level: 3 }]);
    expect(recorder.inputs("verify")).toMatchObject([
      { level: 2, size: 2, policy: start, randomKeys: [1, "probe", 7, 0], phase: "probe" },
      { level: 3, size: 2, policy: start, randomKeys: [1, "probe", 7, 1], phase: "probe" },
    ]);
    expect(recorder.inputs("filter")).toMatchObject([
      { level: 2, probed: [2], refinement: 0, passes: 0, candidate: 7, levels: { min: 1, max: 3 } },
      { level: 3, probed: [2, 3], refinement: 1, passes: 1, candidate: 7 },
    ]);
  });

  it("stops a probe whose end is certain, and makes the group of an admitted task whole", async () => {
    const stopping = (band: string) =>
      changed("filter.probes=8", "climb.groupSize=8", `filter.band=${band}`, "filter.stopError=0");
    const members = (recorder: Recorder) =>
      recorder
        .inputs("rollout")
        .map(({ group, member }) => `${member} of ${group.size}`)
        .sort();
    const failing = new Recorder({
      verify: ({ key, size }) => ({ key, passes: 0, size, meanReward: 0, zeroVariance: true }),
      filter: () => ({ action: "drop", reason: "refinements-spent" }),
    });
    expect(await calibrate("hopeless", failing, stopping("{low: 0.5, high: 0.5}"))).toMatchObject({
      passes: 0,
    });
    expect(members(failing)).toEqual([0, 1, 2, 3, 4].map((member) => `${member} of 5`));
    expect(failing.inputs("filter")).toMatchObject([{ passes: 0, group: { size: 5 } }]);
    // The first two differ: of the general region they are enough.
    const mixed = new Recorder();
    const { passes } = await calibrate("mixed", mixed, stopping("{low: 0, high: 1}"));
    expect(members(mixed)).toEqual(["0 of 2", "1 of 2", ...[2, 3, 4, 5, 6, 7].map((n) => `${n} of 8`)]);
    expect(mixed.inputs("filter")).toMatchObject([{ passes: 1, group: { size: 2 } }]);
    expect(mixed.inputs("verify").map(({ size }) => size)).toEqual([2, 8]);
    expect(passes).toBe(4);
  });

  it("admits neither what a gate rejects, nor what the filter drops, nor a statement that cannot be written", async () => {
    const rejected = new Recorder({ validate: () => ({ taskId: null, rejectedBy: "stability" }) });
    expect(await calibrate("rejected", rejected)).toEqual({
      admitted: null,
      refinements: 0,
      reason: "stability",
      passes: null,
      failure: null,
      rollouts: 0,
    });
    expect(rejected.inputs("rollout")).toEqual([]);
    const dropped = new Recorder({ filter: () => ({ action: "drop", reason: "between-levels" }) });
    expect(await calibrate("dropped", dropped)).toMatchObject({ admitted: null, reason: "between-levels" });
    const unwritten = new Recorder({
      filter: () => ({ action: "refine", level: 1 }),
      refine: () => ({ written: false, reason: "it leaks" }),
    });
    expect(await calibrate("unwritten", unwritten)).toMatchObject({ admitted: null, reason: "it leaks" });
    expect(unwritten.inputs("verify")).toHaveLength(1);
  });
});

describe("fillTaskPool", () => {
  const fill = (name: string, settings: ExperimentSettings, recorder: Recorder) => {
    const environments = [{ name: "a", key: "a@1" }];
    const input = { scope: scopeOf(name), settings, environments, policy: start, exclude: null };
    return bench.run<TaskPool>("fillTaskPool", `exp/${name}/pool`, input, recorder);
  };
  const calibrated = (recorder: Recorder) =>
    recorder.inputs("validate").map(({ candidate }) => candidate.index);

  it("admits in the order of indices, whichever candidate is ready first", async () => {
    let release = () => {};
    const lastProbed = new Promise<void>((resolve) => {
      release = resolve;
    });
    const order: number[] = [];
    const recorder = new Recorder({
      filter: async ({ candidate }) => {
        if (candidate === 3) release();
        if (candidate === 0) await lastProbed;
        order.push(candidate);
        return candidate === 1 ? { action: "drop", reason: "between-levels" } : { action: "admit" };
      },
    });
    const pool = await fill(
      "order",
      changed("concurrency.calibrations=4", "synthesis.poolTasks=2"),
      recorder,
    );
    expect(order.indexOf(3)).toBeLessThan(order.indexOf(0));
    expect(pool.keys).toEqual(["key-0", "key-2"]);
    expect(pool.admitted.map(({ taskId }) => taskId)).toEqual([
      "order/it/1/try/1:key-0",
      "order/it/1/try/1:key-2",
    ]);
    expect(pool).toMatchObject({ candidates: 3, dropped: 1 });
  });

  it("stops at its target", async () => {
    const recorder = new Recorder();
    const pool = await fill(
      "target",
      changed("concurrency.calibrations=1", "synthesis.poolTasks=3"),
      recorder,
    );
    expect(pool.keys).toEqual(["key-0", "key-1", "key-2"]);
    expect(calibrated(recorder)).toEqual([0, 1, 2]);
    expect(recorder.inputs("synthesise")).toMatchObject([
      { from: 0, count: 8, functions: "train", choice: "random", randomKeys: [1, "pool"], seed: 1 },
    ]);
  });

  it("stops at its budget of candidates", async () => {
    const recorder = new Recorder({ validate: () => ({ taskId: null, rejectedBy: "fail-to-pass" }) });
    const pool = await fill("budget", changed("synthesis.maxCandidates=11"), recorder);
    expect(pool).toMatchObject({ keys: [], candidates: 11, dropped: 11, valid: 0 });
    expect(pool.reasons).toEqual({ "fail-to-pass": 11 });
    expect(recorder.inputs("synthesise").map(({ from, count }) => [from, count])).toEqual([
      [0, 8],
      [8, 3],
    ]);
  });

  it("leaves out what was used before, what it has already, and functions that have had their share", async () => {
    const functions = [["f"], ["g"], ["f"], ["f", "h"], ["i"], ["g"], ["j"], ["k"]];
    const recorder = new Recorder({
      synthesise: () => ({
        candidates: functions
          .map((names, index) =>
            candidateOf(index, { functions: names, key: index === 7 ? "key-4" : `key-${index}` }),
          )
          .slice(1),
        empty: [{ index: 0, reason: "used before" }],
      }),
    });
    const settings = changed(
      "synthesis.perFunctionCap=1",
      "synthesis.poolTasks=8",
      "synthesis.maxCandidates=8",
    );
    const pool = await fill("left-out", settings, recorder);
    expect(calibrated(recorder).sort()).toEqual([1, 2, 4, 6]);
    expect(pool.keys).toEqual(["key-1", "key-2", "key-4", "key-6"]);
    expect(pool.dropped).toBe(4);
  });
});

describe("evaluatePolicy", () => {
  it("gives every policy and iteration the same random streams: those of the set and the task", async () => {
    const set = { name: "heldout", hash: "h", tasks: ["t1", "t2"], keys: ["k1", "k2"] };
    const sampling = { temperature: 0.5, topP: 1, topK: 0, minP: 0 };
    const collected = async (iteration: number, policyId: string) => {
      const recorder = new Recorder();
      const scope = scopeOf("evaluation", iteration);
      const more = {
        mode: "sampled",
        samples: 3,
        sampling,
        level: 2,
        settings: smallest,
        grading: smallest.grading,
      };
      const input = { scope, set, policy: policyOf(policyId), ...more };
      await bench.run("evaluatePolicy", `eval/${policyId}`, input, recorder);
      return recorder;
    };
    const [one, two] = [await collected(1, "one"), await collected(2, "two")];
    for (const recorder of [one, two]) {
      const groups = [...recorder.groups().values()].sort((a, b) => (a.key < b.key ? -1 : 1));
      expect(groups).toMatchObject(
        set.tasks.map((taskId) => ({
          taskId,
          size: 3,
          sampling,
          seed: smallest.evaluation.seed,
          randomKeys: ["evaluate", "heldout", taskId],
        })),
      );
    }
    expect(two.inputs("evaluate")).toMatchObject([
      {
        set: "heldout",
        setHash: "h",
        policy: "two",
        groups: ["t1", "t2"].map((taskId) => `evaluation/eval/heldout/sampled/two/${taskId}`),
      },
    ]);
    for (const group of two.groups().values()) expect(group.policy.id).toBe("two");
  });
});

describe("runIteration", () => {
  const iterate = (name: string, recorder: Recorder) => {
    const settings = changed(
      "climb.updates=4",
      "selection.everyUpdates=1",
      "climb.tasksPerBatch=1",
      "synthesis.poolTasks=1",
    );
    const validation = { name: "validation", hash: "v", tasks: ["v1"], keys: ["kv"] };
    const input: RunIterationInput = {
      scope: scopeOf(name),
      settings,
      environments: [{ name: "a", key: "a@1" }],
      policy: start,
      validation,
      exclude: null,
    };
    return bench.run<RunIterationOutput>("runIteration", `exp/${name}/it/1/try/1`, input, recorder);
  };
  const scored = (scores: readonly number[]) =>
    new Recorder({
      evaluate: ({ policy }) => {
        const passAt1 = scores[versionsOf(4).indexOf(policy) - 1]!;
        return { tasks: 1, samples: 1, passAt1, low: 0, high: 1 };
      },
    });

  it.each([
    ["the best", [0.25, 0.75, 0.5, 0.25], 2],
    ["the best, were it the first", [0.75, 0.5, 0.25, 0.5], 1],
    ["the later of equals", [0.25, 0.75, 0.75, 0.5], 3],
    ["the last where all solve nothing", [0, 0, 0, 0], 4],
  ] as const)("ends with %s of its checkpoints on the validation set", async (what, scores, update) => {
    const recorder = scored(scores);
    const chosen = versionsOf(4)[update]!;
    const { policy, keys } = await iterate(what.replaceAll(" ", "-"), recorder);
    expect(policy.id).toBe(chosen);
    expect(keys).toEqual(["key-0"]);
    expect(recorder.inputs("evaluate").map((input) => [input.set, input.policy])).toEqual(
      versionsOf(4)
        .slice(1)
        .map((id) => ["validation", id]),
    );
    expect(recorder.inputs("recordIteration").at(-1)).toMatchObject({
      status: "finished",
      startPolicy: "start",
      endPolicy: chosen,
    });
  });
});

describe("runExperiment", () => {
  it("continues as new per iteration, with the chosen policy and every key used so far", async () => {
    let best = "";
    const recorder = new Recorder({
      // The set's and the pools' candidates have keys of their own.
      synthesise: ({ from, count, choice, randomKeys }) => ({
        candidates: Array.from({ length: count }, (_, i) =>
          candidateOf(from + i, { key: `${choice === "random" ? randomKeys[0] : "set"}-${from + i}` }),
        ),
        empty: [],
      }),
      evaluate: ({ set, policy, groups }) => {
        const first = policy.endsWith("+2");
        if (set === "validation" && first && best === "") best = policy;
        return { tasks: groups.length, samples: 1, passAt1: first ? 0.9 : 0.1, low: 0, high: 1 };
      },
    });
    const settings = changed(
      "iterations=2",
      "climb.updates=4",
      "selection.everyUpdates=2",
      "evaluation.sets.heldout.tasks=2",
    );
    const input: RunExperimentInput = { name: "outer", settings };
    const handleOf = (run: string) => bench.client.workflow.getHandle("exp/outer", run);
    const last = await bench.run<{ id: string }>("runExperiment", "exp/outer", input, recorder);
    expect(best).toBe("start+1+2");
    expect(last.id).toBe("start+1+2+1+2");

    const pinned = recorder
      .inputs("recordIteration")
      .filter(({ status }) => status === "pool")
      .map((record) => record.pinned as RunIterationInput);
    const sets = recorder.inputs("saveTaskSet").flatMap(({ set }) => set.keys);
    expect(sets).toHaveLength(3);
    expect(pinned.map(({ scope, policy }) => [scope.iteration, policy.id])).toEqual([
      [1, "start"],
      [2, "start+1+2"],
    ]);
    expect(recorder.inputs("noteUsed").map(({ before, keys }) => [before, keys])).toEqual([
      [null, sets],
      [pinned[0]!.exclude, ["1-0", "1-1"]],
      [pinned[1]!.exclude, ["2-0", "2-1"]],
    ]);
    expect(pinned[1]!.exclude).not.toEqual(pinned[0]!.exclude);
    expect(pinned[1]!.validation).toEqual(pinned[0]!.validation);
    // Each iteration's first update starts from what the last one chose, with a fresh optimizer.
    const updates = recorder
      .inputs("update")
      .map(({ scope, update, parent, freshOptimizer }) => [
        scope.iteration,
        update,
        parent.id,
        freshOptimizer,
      ]);
    expect(updates[0]).toEqual([1, 1, "start", true]);
    expect(updates[4]).toEqual([2, 1, "start+1+2", true]);
    expect(updates.filter(([, , , fresh]) => fresh)).toHaveLength(2);
    const measured = recorder.inputs("evaluate").filter(({ set }) => set === "heldout");
    expect(
      measured.filter(({ mode }) => mode === "sampled").map(({ scope, policy }) => [scope.iteration, policy]),
    ).toEqual([
      [0, "start"],
      [1, "start+1+2"],
      [2, "start+1+2+1+2"],
    ]);

    const carried: unknown[] = [];
    let run = (await bench.client.workflow.getHandle("exp/outer").describe()).runId;
    for (;;) {
      const [started] = (await handleOf(run).fetchHistory()).events!;
      const { input: given, continuedExecutionRunId } = started!.workflowExecutionStartedEventAttributes!;
      carried.unshift(defaultPayloadConverter.fromPayload<RunExperimentInput>(given!.payloads![0]!).carried);
      if (!continuedExecutionRunId) break;
      run = continuedExecutionRunId;
    }
    expect(carried).toMatchObject([
      undefined,
      { next: 2, policy: { id: "start+1+2" }, used: pinned[1]!.exclude },
      { next: 3, policy: { id: "start+1+2+1+2" }, used: { kind: "keys" } },
    ]);
  });
});
