/** Groups that grow and a budget of rollouts, as the workflows keep to them: also when a history is cut in between. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ExperimentSettings, settingsAt } from "../../core/experiment.ts";
import type { AdmittedTask } from "../../workflows/calibrateTask.ts";
import type { Checkpoint } from "../../workflows/climbing.ts";
import type { TaskPool } from "../../workflows/fillTaskPool.ts";
import {
  bundleWorkflows,
  candidateOf,
  changed,
  openWorkflowBench,
  Recorder,
  scopeOf,
  start,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
/** Its histories are cut after few events. */
let short: WorkflowBench;
beforeAll(async () => {
  const workflowBundle = await bundleWorkflows();
  bench = await openWorkflowBench(workflowBundle);
  short = await openWorkflowBench(workflowBundle, [
    "--dynamic-config-value",
    "limit.historyCount.suggestContinueAsNew=40",
  ]);
});
afterAll(async () => {
  await bench?.close();
  await short?.close();
});

const tasks: AdmittedTask[] = ["t0", "t1", "t2"].map((taskId) => ({
  taskId,
  level: 2,
  environment: "a",
  probeGroup: null,
}));

function climb(
  name: string,
  settings: ExperimentSettings,
  recorder: Recorder,
  more: object = {},
  on = bench,
): Promise<Checkpoint[]> {
  const input = { scope: scopeOf(name), settings, policy: start, tasks, ...more };
  return on.run("climb", `exp/${name}/climb`, input, recorder);
}

/** Results of t1's members in their order; every other task passes once in each group. */
const T1 = [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1];
const uneven = () =>
  new Recorder({
    verify: ({ key, size, taskId }) => {
      const passes = taskId === "t1" ? T1.slice(0, size).reduce((sum, raw) => sum + raw, 0) : 1;
      return { key, size, passes, meanReward: 0, zeroVariance: passes === 0 };
    },
  });

/** Sizes that each group was verified with, in order; each member was asked for once. */
function sizes(recorder: Recorder): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { taskId, key, size } of recorder.inputs("verify"))
    found.set(`${taskId} ${key}`, [...(found.get(`${taskId} ${key}`) ?? []), size]);
  const slots = recorder.inputs("rollout").map(({ group, member }) => `${group.key}/${member}`);
  expect(new Set(slots).size).toBe(slots.length);
  const last = [...found.values()].reduce((sum, all) => sum + all.at(-1)!, 0);
  expect(slots).toHaveLength(last);
  return found;
}

const of = (found: Map<string, number[]>, task: string) =>
  [...found].filter(([name]) => name.startsWith(`${task} `)).map(([, all]) => all);

describe("groups", () => {
  const grown = (kind: string, maxSize: number, ...more: string[]) =>
    changed("climb.updates=3", `climb.groups={kind: ${kind}, maxSize: ${maxSize}}`, ...more);

  it("dynamic: grow at the end until they are mixed, and are trained on whole", async () => {
    const recorder = uneven();
    await climb("dynamic", grown("dynamic", 12), recorder);
    const found = sizes(recorder);
    expect(new Set(of(found, "t1").map(String))).toEqual(new Set(["2,4,6"]));
    expect(new Set([...of(found, "t0"), ...of(found, "t2")].map(String))).toEqual(new Set(["2"]));
    expect(recorder.inputs("assemble").every(({ plan }) => plan === undefined)).toBe(true);
  });

  it("stop at their bound", async () => {
    const recorder = uneven();
    await climb("bounded", grown("dynamic", 5), recorder);
    expect(new Set(of(sizes(recorder), "t1").map(String))).toEqual(new Set(["2,4,5"]));
  });

  it("balanced: are cut where they are assembled", async () => {
    const recorder = uneven();
    await climb("balanced", grown("balanced", 12), recorder);
    expect(new Set(of(sizes(recorder), "t1").map(String))).toEqual(new Set(["2,4,6"]));
    expect(recorder.inputs("assemble").map(({ plan }) => plan)).toEqual(
      Array(3).fill({ kind: "balanced", size: 2, maxSize: 12 }),
    );
  });

  it("say how often a task is solved by the rollouts that they began with alone", async () => {
    const frontier = "climb.sampling={kind: frontier, floor: 0, patience: 9}";
    const solved = new Recorder({
      // Whatever grows ends with a pass. Counted of the two that it began with, that would be half of them: all there is to learn.
      verify: ({ key, size }) => ({
        key,
        size,
        passes: size > 2 ? 1 : 0,
        meanReward: 0,
        zeroVariance: false,
      }),
    });
    const never = new Recorder({
      verify: ({ key, size }) => ({ key, size, passes: 0, meanReward: 0, zeroVariance: true }),
    });
    const chosen = async (name: string, settings: ExperimentSettings, recorder: Recorder) => {
      await climb(name, settings, recorder);
      return [...recorder.groups().values()].map(
        ({ taskId, randomKeys }) => `${randomKeys.join()} ${taskId}`,
      );
    };
    const rest = ["climb.updates=4", "climb.tasksPerBatch=1", frontier];
    const grew = await chosen("grew", grown("dynamic", 4, ...rest), solved);
    expect(grew).toEqual(await chosen("never", changed(...rest), never));
  });
});

describe("a budget of rollouts", () => {
  it.each([0, 1, 3])("with lag %i ends the climb with the last update that fits", async (lag) => {
    const recorder = new Recorder();
    const settings = changed(
      "climb.updates=9",
      `climb.maxLag=${lag}`,
      "climb.rolloutBudget=19",
      "selection.everyUpdates=2",
    );
    // 19 − 5 = 14 are three updates of two groups of two.
    const checkpoints = await climb(`budget-${lag}`, settings, recorder, { spent: 5 });
    expect(recorder.inputs("rollout")).toHaveLength(12);
    expect(recorder.inputs("update").map(({ update }) => update)).toEqual([1, 2, 3]);
    expect(checkpoints.map(({ update }) => update)).toEqual([2, 3]);
  });

  it("makes no update where the pool has spent it", async () => {
    const recorder = new Recorder();
    expect(await climb("spent", changed("climb.rolloutBudget=12"), recorder, { spent: 9 })).toEqual([]);
    expect(recorder.inputs("rollout")).toHaveLength(0);
  });

  it("counts what groups grew to, also over histories that are cut, and is never exceeded", async () => {
    const settings = changed(
      "climb.updates=40",
      "climb.maxLag=1",
      "climb.groups={kind: dynamic, maxSize: 6}",
      "climb.rolloutBudget=50",
    );
    const [whole, cut] = [uneven(), uneven()];
    const checkpoints = await climb("grown", settings, whole);
    expect(await climb("grown-cut", settings, cut, {}, short)).toEqual(checkpoints);
    const history = await short.client.workflow.getHandle("exp/grown-cut/climb").fetchHistory();
    const [started] = history.events!;
    expect(started!.workflowExecutionStartedEventAttributes!.continuedExecutionRunId).toBeTruthy();
    const spent = whole.inputs("rollout").length;
    expect(cut.inputs("rollout")).toHaveLength(spent);
    expect(spent).toBeLessThanOrEqual(50);
    // An update takes 12 at most.
    expect(spent).toBeGreaterThan(50 - 12);
  });

  it("ends a pool while one update still fits, and tells what its probes took", async () => {
    const pool = (name: string, budget: string, recorder: Recorder): Promise<TaskPool> => {
      const settings = changed("synthesis.poolTasks=9", "concurrency.calibrations=3", budget);
      const input = { scope: scopeOf(name), settings, environments: [], policy: start, exclude: null };
      return bench.run("fillTaskPool", `exp/${name}/pool`, input, recorder);
    };
    // Each takes two probes of two rollouts; a candidate and an update at most four each.
    const refined = () =>
      new Recorder({
        filter: ({ refinement }) => (refinement === 0 ? { action: "refine", level: 1 } : { action: "admit" }),
      });
    const free = await pool("free", "climb.rolloutBudget=null", refined());
    expect([free.admitted.length, free.rollouts]).toEqual([9, 36]);
    const bounded = await pool("bounded", "climb.rolloutBudget=21", refined());
    expect([bounded.admitted.length, bounded.rollouts, bounded.lastCandidate]).toEqual([4, 16, 3]);
  });
});

it("a pool of imported tasks asks for no more once there is no further one, and ends with those there are", async () => {
  const recorder = new Recorder({
    synthesise: ({ from }) => ({
      candidates: [0, 1, 2].map((i) => candidateOf(from + i, { generator: "import" })),
      empty: [],
      exhausted: true,
    }),
  });
  const settings = changed("ablation=imported-tasks", "sandbox.runtime=docker", "synthesis.poolTasks=9");
  const input = {
    scope: scopeOf("imported"),
    settings: settingsAt(settings, 1),
    environments: [],
    policy: start,
    exclude: null,
  };
  const pool: TaskPool = await bench.run("fillTaskPool", "exp/imported/pool", input, recorder);
  expect(pool.admitted).toHaveLength(3);
  expect(recorder.inputs("synthesise").map(({ choice, from }) => [choice, from])).toEqual([["imported", 0]]);
});
