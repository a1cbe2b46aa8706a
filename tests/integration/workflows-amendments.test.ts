/** Every setting that may be amended reaches whatever reads it: one experiment in which they all are, each seen from the next iteration on. */
import { setTimeout as sleep } from "node:timers/promises";
import { Worker, type WorkflowBundlePath } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AMENDABLE } from "../../core/steering.ts";
import { amendUpdate } from "../../workflows/messages.ts";
import { QUEUES } from "../../workflows/queues.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  policyOf,
  Recorder,
  type WorkflowBench,
} from "./workflows-recorder.ts";

/** What two pieces of work that are to run at once wait for each other at most. */
const MEETING_MS = 20_000;

/** How much of one kind was in flight at once, by iteration. Where `expected` is set, work waits until so much is. */
class Flight {
  readonly most = new Map<number, number>();
  readonly #now = new Map<number, Set<string>>();
  readonly #met = Promise.withResolvers<void>();

  async enter(iteration: number, key: string, meet: boolean): Promise<void> {
    const now = this.#now.get(iteration) ?? new Set();
    this.#now.set(iteration, now.add(key));
    this.most.set(iteration, Math.max(this.most.get(iteration) ?? 0, now.size));
    if (now.size > 1) this.#met.resolve();
    if (meet) await Promise.race([this.#met.promise, sleep(MEETING_MS, undefined, { ref: false })]);
  }

  leave(iteration: number, key: string): void {
    this.#now.get(iteration)?.delete(key);
  }
}

const validations = new Flight();
const groups = new Flight();
/** Iteration of a candidate's scope; 0 for those of fixed sets. */
const iterationOf = (recordScope: string): number => Number(/\/it\/(\d+)\//.exec(recordScope)?.[1] ?? 0);

const reached = new Map([1, 2].map((iteration) => [iteration, Promise.withResolvers<void>()]));
const gates = new Map([1, 2].map((iteration) => [iteration, Promise.withResolvers<void>()]));
const recorder = new Recorder({
  validate: async ({ candidate, recordScope }) => {
    const iteration = iterationOf(recordScope);
    await validations.enter(iteration, candidate.key, iteration === 2);
    validations.leave(iteration, candidate.key);
    // One candidate that is none: a pool then needs more of them than it has tasks.
    return iteration > 1 && candidate.index === 0
      ? { taskId: null, rejectedBy: "stability" }
      : { taskId: `${recordScope}:${candidate.key}`, rejectedBy: null };
  },
  rollout: async ({ group, member }) => {
    const { iteration } = group.scope;
    if (group.phase === "evaluate" && !group.key.includes("/validation/"))
      await groups.enter(iteration, group.key, iteration === 2);
    return { key: `${group.key}/${member}`, exit: "agent", turns: 2, generatedTokens: 9 };
  },
  verify: ({ scope, key, size }) => {
    groups.leave(scope.iteration, key);
    return { key, passes: 1, size, meanReward: 1 / size, zeroVariance: false };
  },
  update: async ({ scope, parent, update }) => {
    reached.get(scope.iteration)?.resolve();
    await gates.get(scope.iteration)?.promise;
    return policyOf(`${parent.id}+${update}`, parent.id, parent.step + 1);
  },
});

const filterOf = (iteration: number) =>
  recorder.inputs("filter").find(({ group }) => group.scope.iteration === iteration)?.filter;
const poolOf = (iteration: number) =>
  recorder
    .inputs("recordIteration")
    .find(({ scope, status }) => scope.iteration === iteration && status === "finished")?.pool;

/** Amended while iteration `during` runs, to be seen in the next by what reads it; a whole pool and a short one cannot be seen in one. */
const AMENDED: Readonly<
  Record<
    string,
    {
      readonly during: 1 | 2;
      readonly value: number | boolean;
      readonly before: unknown;
      readonly seen: (iteration: number) => unknown;
    }
  >
> = {
  "synthesis.poolTasks": { during: 1, value: 3, before: 2, seen: (i) => poolOf(i)?.admitted },
  "synthesis.maxCandidates": { during: 2, value: 3, before: 4, seen: (i) => poolOf(i)?.candidates },
  "filter.band.low": { during: 1, value: 0.2, before: 0.1, seen: (i) => filterOf(i)?.band.low },
  "filter.band.high": { during: 1, value: 0.8, before: 0.9, seen: (i) => filterOf(i)?.band.high },
  "filter.maxRefinements": { during: 1, value: 2, before: 1, seen: (i) => filterOf(i)?.maxRefinements },
  "climb.updates": {
    during: 1,
    value: 1,
    before: 2,
    seen: (i) => recorder.inputs("update").filter(({ scope }) => scope.iteration === i).length,
  },
  "optimizer.learningRate": {
    during: 1,
    value: 0.5,
    before: 0.25,
    seen: (i) => recorder.inputs("update").find(({ scope }) => scope.iteration === i)?.optimizer.learningRate,
  },
  "evaluation.greedy": {
    during: 1,
    value: false,
    before: true,
    seen: (i) =>
      recorder.inputs("evaluate").some(({ scope, mode }) => scope.iteration === i && mode === "greedy"),
  },
  "concurrency.calibrations": { during: 1, value: 2, before: 1, seen: (i) => validations.most.get(i) },
  "concurrency.groups": { during: 1, value: 2, before: 1, seen: (i) => groups.most.get(i) },
};

let workflowBundle: WorkflowBundlePath;
let bench: WorkflowBench;
beforeAll(async () => {
  workflowBundle = await bundleWorkflows("late-start");
  bench = await openWorkflowBench(workflowBundle);
  bench.use(recorder);
  const settings = changed(
    "iterations=4",
    "synthesis.poolTasks=2",
    "climb.updates=2",
    "selection.everyUpdates=2",
    "filter.band.low=0.1",
    "filter.band.high=0.9",
    "evaluation.greedy=true",
    "evaluation.sets.heldout.tasks=2",
    "concurrency.calibrations=1",
    "concurrency.groups=1",
  );
  // The file has a band of its own from the second iteration on: an amendment wins over it.
  const overrides = [{ fromIteration: 2, filter: { band: { low: 0.3, high: 0.7 } } }];
  const handle = await bench.client.workflow.start("runExperiment", {
    workflowId: "exp/amendable",
    taskQueue: QUEUES.orchestrate,
    args: [{ name: "amendable", settings: { ...settings, overrides } }],
  });
  const current = bench.client.workflow.getHandle("exp/amendable");
  const amend = (path: string, value: number | boolean) =>
    current.executeUpdate(amendUpdate, { args: [{ request: path, path, value }] });
  for (const iteration of [1, 2]) {
    await reached.get(iteration)!.promise;
    for (const [path, { during, value }] of Object.entries(AMENDED))
      if (during === iteration) await amend(path, value);
    if (iteration === 2) await amend("iterations", 3);
    gates.get(iteration)!.resolve();
  }
  await handle.result();
}, 180_000);
afterAll(() => bench?.close());

describe("an amendment", () => {
  it.each(Object.entries(AMENDED))("of %s is seen from the next iteration on", (_, amendment) => {
    const { during, value, before, seen } = amendment;
    expect(seen(during)).toBe(before);
    expect(seen(during + 1)).toBe(value);
  });

  it("of iterations ends the experiment after so many", () => {
    const begun = recorder.inputs("recordIteration").map(({ scope }) => scope.iteration);
    expect(Math.max(...begun)).toBe(3);
  });

  it("made after an iteration was pinned and before it is entered holds from the one after it", async () => {
    const pinned = [1, 2].map(() => Promise.withResolvers<void>());
    const own = new Recorder({
      recordIteration: ({ scope, status }) => {
        if (status === "pool") pinned[scope.iteration - 1]?.resolve();
      },
    });
    bench.use(own);
    const handle = await bench.client.workflow.start("runExperiment", {
      workflowId: "exp/late",
      taskQueue: QUEUES.orchestrate,
      args: [
        { name: "late", settings: changed("iterations=2", "climb.updates=3", "evaluation.greedy=true") },
      ],
    });
    const current = bench.client.workflow.getHandle("exp/late");
    const amend = (path: string, value: number | boolean) =>
      current.executeUpdate(amendUpdate, { args: [{ request: path, path, value }] });
    await pinned[0]!.promise;
    expect(await amend("climb.updates", 1)).toMatchObject({
      iteration: 0,
      amendments: [{ old: 3, value: 1, fromIteration: 2 }],
    });
    await pinned[1]!.promise;
    expect((await amend("evaluation.greedy", false)).amendments[1]).toMatchObject({ fromIteration: 3 });
    await handle.result();
    const updates = own.inputs("update").map(({ scope, update }) => `${scope.iteration}.${update}`);
    expect(updates).toEqual(["1.1", "1.2", "1.3", "2.1"]);
    // The first run replays: its amendment is marked as one by this rule.
    const history = await bench.client.workflow
      .getHandle("exp/late", handle.firstExecutionRunId)
      .fetchHistory();
    expect(history.events!.some((event) => event.markerRecordedEventAttributes != null)).toBe(true);
    await Worker.runReplayHistory({ workflowBundle }, history, "exp/late");
    // Evaluations after an iteration go by the settings it was pinned with.
    expect(own.inputs("evaluate").some(({ scope, mode }) => scope.iteration === 2 && mode === "greedy")).toBe(
      true,
    );
  });

  it("is looked for of every setting that may be amended", () => {
    // Failures and spending are counted on the record: budget.test.ts and spend.test.ts amend what they may be.
    const spending = ["budget.authorTokens", "budget.sandboxHours", "budget.usd"];
    const elsewhere = ["iterations", "limits.infrastructureRetries", ...spending];
    expect([...Object.keys(AMENDED), ...elsewhere].sort()).toEqual(Object.keys(AMENDABLE).sort());
  });
});
