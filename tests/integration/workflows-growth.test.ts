/** A workflow whose history grows long continues as new, and comes to what it would have come to in one run. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EvaluateOutput, TaskSetRef, TaskSetSpec } from "../../activities/types.ts";
import type { Checkpoint } from "../../workflows/climbing.ts";
import type { TaskPool } from "../../workflows/fillTaskPool.ts";
import { finishEarlySignal } from "../../workflows/messages.ts";
import { QUEUES } from "../../workflows/queues.ts";
import {
  bundleWorkflows,
  candidateOf,
  changed,
  openWorkflowBench,
  Recorder,
  scopeOf,
  smallest,
  start,
  type WorkflowBench,
} from "./workflows-recorder.ts";

/** One server that suggests to continue as new after few events, and one that leaves it to the workflows. */
let short: WorkflowBench;
let long: WorkflowBench;
beforeAll(async () => {
  const bundle = await bundleWorkflows();
  const suggest = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=50"];
  [long, short] = await Promise.all([openWorkflowBench(bundle), openWorkflowBench(bundle, suggest)]);
});
afterAll(async () => {
  await short?.close();
  await long?.close();
});

/** Runs of a workflow, oldest first. */
async function runsOf(bench: WorkflowBench, id: string): Promise<{ length: number }[]> {
  const runs: { length: number }[] = [];
  for (let run: string | undefined; ; ) {
    const { events } = await bench.client.workflow.getHandle(id, run).fetchHistory();
    runs.unshift({ length: events!.length });
    run = events![0]!.workflowExecutionStartedEventAttributes!.continuedExecutionRunId ?? undefined;
    if (!run) return runs;
  }
}

/** Runs it on both servers; `input` is made anew, and so are the answers. */
async function both<T>(workflow: string, id: string, input: object, answers: () => Recorder) {
  const [once, cut] = [answers(), answers()];
  const [inOne, inMany] = await Promise.all([
    long.run<T>(workflow, id, input, once),
    short.run<T>(workflow, id, input, cut),
  ]);
  expect(await runsOf(long, id)).toHaveLength(1);
  const runs = await runsOf(short, id);
  expect(runs.length).toBeGreaterThan(2);
  for (const { length } of runs.slice(0, -1)) expect(length).toBeLessThan(150);
  return { inOne, inMany, once, cut };
}

/** Of 8 candidates: an empty draw, a duplicate, one of a function that has had its share, and five that are new. */
const synthesise = ({ from, count }: { readonly from: number; readonly count: number }) => {
  const indices = Array.from({ length: count }, (_, i) => from + i);
  return {
    candidates: indices
      .filter((index) => index % 8 !== 2)
      .map((index) =>
        candidateOf(index, {
          ...(index % 8 === 5 ? { key: "key-0" } : {}),
          ...(index % 8 === 6 ? { functions: ["everyone's"] } : {}),
        }),
      ),
    empty: indices.filter((index) => index % 8 === 2).map((index) => ({ index, reason: "no site" })),
  };
};

describe("fillTaskPool", () => {
  const input = (name: string, ...overrides: string[]) => ({
    scope: scopeOf(name),
    settings: changed("concurrency.calibrations=3", "synthesis.perFunctionCap=1", ...overrides),
    environments: [{ name: "a", key: "a@1" }],
    policy: start,
    exclude: null,
  });
  const choosing = () =>
    new Recorder({
      synthesise,
      filter: ({ candidate, refinement }) => {
        if (candidate % 5 === 1) return { action: "drop", reason: "between-levels" };
        return candidate % 7 === 0 && refinement === 0 ? { action: "refine", level: 3 } : { action: "admit" };
      },
    });

  it.each([
    ["until its target", "pool-target", ["synthesis.poolTasks=17", "synthesis.maxCandidates=80"]],
    ["until its budget", "pool-budget", ["synthesis.poolTasks=40", "synthesis.maxCandidates=45"]],
  ])("admits the same tasks in the same order %s", async (_, name, overrides) => {
    const { inOne, inMany, cut } = await both<TaskPool>(
      "fillTaskPool",
      `exp/${name}/pool`,
      input(name, ...overrides),
      choosing,
    );
    expect(inMany).toEqual(inOne);
    expect(inOne.admitted.length).toBeGreaterThan(12);
    // Nothing is synthesised or validated a second time.
    const synthesised = cut.inputs("synthesise").map(({ from }) => from);
    expect(synthesised).toEqual(synthesised.map((_, batch) => 8 * batch));
    const validated = cut.inputs("validate").map(({ candidate }) => candidate.index);
    expect(new Set(validated).size).toBe(validated.length);
  });

  it("ends early when it is told to after it was continued", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      synthesise,
      validate: async ({ candidate, recordScope }) => {
        if (candidate.index >= 24) {
          reached.resolve();
          await gate.promise;
        }
        return { taskId: `${recordScope}:${candidate.key}`, rejectedBy: null };
      },
    });
    short.use(recorder);
    const id = "exp/pool-early/pool";
    const handle = await short.client.workflow.start("fillTaskPool", {
      workflowId: id,
      taskQueue: QUEUES.orchestrate,
      args: [input("pool-early", "synthesis.poolTasks=40", "synthesis.maxCandidates=80")],
    });
    await reached.promise;
    expect((await runsOf(short, id)).length).toBeGreaterThan(1);
    await short.client.workflow.getHandle(id).signal(finishEarlySignal, { stop: false });
    gate.resolve();
    const pool: TaskPool = await handle.result();
    expect(pool.keys.length).toBeGreaterThan(0);
    expect(pool.lastCandidate).toBeLessThan(30);
  });
});

describe("prepareTaskSet", () => {
  it("finds the same tasks in the same order", async () => {
    const spec: TaskSetSpec = {
      environments: [{ name: "a", key: "a@1" }],
      functions: "held-out",
      tasks: 21,
      seed: 7,
      mix: smallest.synthesis.mix,
      heldOutShare: 0.5,
      stabilityRuns: 1,
      perFunctionCap: 1,
      level: 2,
    };
    const { inOne, inMany, once, cut } = await both<TaskSetRef>(
      "prepareTaskSet",
      "exp/growth/set/heldout",
      { name: "heldout", spec, concurrency: 3 },
      () =>
        new Recorder({
          synthesise,
          validate: ({ candidate, recordScope }) =>
            candidate.index % 3 === 1
              ? { taskId: null, rejectedBy: "stability" }
              : { taskId: `${recordScope}:${candidate.key}`, rejectedBy: null },
        }),
    );
    expect(inMany).toEqual(inOne);
    expect(inOne.tasks).toHaveLength(21);
    expect(cut.inputs("saveTaskSet")).toEqual(once.inputs("saveTaskSet"));
    expect(cut.inputs("findTaskSet")).toHaveLength(1);
  });
});

describe("evaluatePolicy", () => {
  it("measures every task once", async () => {
    const tasks = Array.from({ length: 24 }, (_, i) => `t${i}`);
    const set: TaskSetRef = { name: "heldout", hash: "h", tasks, keys: tasks };
    const { inOne, inMany, once, cut } = await both<EvaluateOutput>(
      "evaluatePolicy",
      "eval/growth",
      {
        ...{ scope: scopeOf("growth"), set, policy: start, mode: "sampled", samples: 2, level: 2 },
        ...{ sampling: smallest.evaluation.sampling, settings: smallest, grading: smallest.grading },
      },
      () => new Recorder(),
    );
    expect(inMany).toEqual(inOne);
    expect(cut.inputs("evaluate")).toEqual(once.inputs("evaluate"));
    expect(cut.inputs("evaluate")[0]!.groups).toHaveLength(24);
    expect(cut.inputs("rollout")).toHaveLength(48);
    expect(cut.groups()).toEqual(once.groups());
  });
});

describe("climb", () => {
  const tasks = Array.from({ length: 12 }, (_, i) => ({ taskId: `t${i}`, level: 2, probeGroup: null }));
  const settings = (...overrides: string[]) =>
    changed("climb.updates=3", "climb.tasksPerBatch=12", "filter.probesAsGroups=false", ...overrides);

  it.each([0, 2])(
    "trains on the same groups with lag %i, also when it is cut within an update",
    async (lag) => {
      const name = `climb-${lag}`;
      const { inOne, inMany, once, cut } = await both<Checkpoint[]>(
        "climb",
        `exp/${name}/climb`,
        { scope: scopeOf(name), settings: settings(`climb.maxLag=${lag}`), policy: start, tasks },
        () => new Recorder(),
      );
      expect(inMany).toEqual(inOne);
      expect(cut.inputs("assemble")).toEqual(once.inputs("assemble"));
      expect(cut.inputs("update")).toEqual(once.inputs("update"));
      expect(cut.groups()).toEqual(once.groups());
      expect(cut.inputs("rollout")).toHaveLength(3 * 12 * 2);
    },
  );

  it("chooses the same tasks at the frontier when it is cut", async () => {
    const passesOf = (taskId: string) => Number(taskId.slice(1)) % 3;
    const { inOne, inMany, once, cut } = await both<Checkpoint[]>(
      "climb",
      "exp/climb-frontier/climb",
      {
        scope: scopeOf("climb-frontier"),
        settings: settings(
          "climb.sampling.kind=frontier",
          "climb.tasksPerBatch=5",
          "climb.updates=6",
          "climb.maxLag=1",
        ),
        policy: start,
        tasks,
      },
      () =>
        new Recorder({
          verify: ({ key, size, taskId }) => {
            const passes = passesOf(taskId);
            return { key, passes, size, meanReward: passes / size, zeroVariance: passes !== 1 };
          },
        }),
    );
    expect(inMany).toEqual(inOne);
    expect(cut.groups()).toEqual(once.groups());
    const chosen = [...once.groups().values()].map(({ taskId }) => passesOf(taskId));
    expect(chosen).toHaveLength(6 * 5);
    expect(new Set(chosen).size).toBe(3);
    // A third of the tasks are mixed: even use would take a third of the groups from them.
    expect(chosen.filter((passes) => passes === 1).length).toBeGreaterThan((6 * 5) / 3);
  });

  it("ends early when it is told to after it was continued", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const recorder = new Recorder({
      rollout: async ({ group, member }) => {
        if (group.randomKeys[2] === 3) {
          reached.resolve();
          await gate.promise;
        }
        return { key: `${group.key}/${member}`, exit: "agent", turns: 2, generatedTokens: 9 };
      },
    });
    short.use(recorder);
    const id = "exp/climb-early/climb";
    const handle = await short.client.workflow.start("climb", {
      workflowId: id,
      taskQueue: QUEUES.orchestrate,
      args: [{ scope: scopeOf("climb-early"), settings: settings("climb.maxLag=0"), policy: start, tasks }],
    });
    await reached.promise;
    expect((await runsOf(short, id)).length).toBeGreaterThan(1);
    await short.client.workflow.getHandle(id).signal(finishEarlySignal, { stop: true });
    gate.resolve();
    const checkpoints: Checkpoint[] = await handle.result();
    expect(checkpoints.at(-1)).toMatchObject({ update: 2, policy: { id: "start+1+2" } });
    expect(recorder.inputs("update")).toHaveLength(2);
  });
});
