import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ArtifactStore,
  type Db,
  listExperiments,
  poolOf,
  poolSeries,
  putJson,
  readCost,
  readProgress,
  recordEvent,
  recordIteration,
  recordValidation,
  setStatus,
  showExperiment,
  showRollout,
  showTask,
  taskMix,
  updateSeries,
} from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { policyRef, recordTestExperiment, testTask } from "../support/record.ts";

let record: TestRecord;
let db: Db;
let artifacts: ArtifactStore;
beforeAll(async () => {
  record = await openTestRecord();
  ({ db, artifacts } = record);
  await recordTestExperiment(db, artifacts, "demo");
  // Another experiment whose name begins the same must not leak into the first one's counts.
  await recordTestExperiment(db, artifacts, "demo-2");
}, 60_000);
afterAll(() => record?.close());

describe("show", () => {
  it("sums an experiment up", async () => {
    const summary = await showExperiment(db, "demo");
    const end = policyRef("end");
    expect(summary).toMatchObject({
      name: "demo",
      seed: 3,
      status: "done",
      error: null,
      policy: { id: end.id, sha256: end.checkpoint.sha256 },
      rollouts: 20,
    });
    expect(summary.iterations).toHaveLength(2);
    const pooled = { mode: "sampled", tasks: 80, samples: 2 };
    expect(summary.iterations[0]).toMatchObject({
      iteration: 0,
      policy: { id: policyRef("start").id },
      evaluation: { ...pooled, passAt1: 0.25 },
      greedy: { mode: "greedy", tasks: 80, samples: 1, passAt1: 0.35 },
      pool: null,
    });
    expect(summary.iterations[1]).toMatchObject({
      iteration: 1,
      status: "finished",
      policy: { id: end.id },
      evaluation: { ...pooled, passAt1: 0.5 },
      pool: { admitted: 2, dropped: 2, refined: 1 },
    });
    const { low, high } = summary.iterations[0]!.evaluation!;
    expect([low < 0.25, low > 0.1, high > 0.25, high < 0.4]).toEqual([true, true, true, true]);
    const listed = summary.iterations[1]!.evaluations.map(({ set, mode, passAt1 }) => [set, mode, passAt1]);
    expect(listed).toEqual([
      ["functions", "sampled", 0.5],
      ["functions", "greedy", 0.6],
      ["unseen", "sampled", 0.5],
      ["unseen", "greedy", 0.6],
    ]);
  });

  it("tells the phases in their order", async () => {
    const { timings } = await showExperiment(db, "demo");
    expect(timings.phases.map(({ iteration, phase }) => [iteration, phase])).toEqual([
      [0, "environments"],
      [1, "pool"],
      [1, "climb"],
      [1, "evaluate"],
    ]);
  });

  it("counts an open pool from its probes and validations", async () => {
    const row = {
      experiment: "demo-2",
      iteration: 1,
      try: 1,
      status: "pool",
      start_policy: policyRef("start").id,
      end_policy: null,
      pinned: {},
    };
    await recordIteration(db, { ...row, pool: null });
    const { iterations, policy } = await showExperiment(db, "demo-2");
    expect(iterations[1]!.pool).toEqual({ admitted: 2, dropped: 2, refined: 1 });
    expect(iterations[1]!.policy).toBeNull();
    expect(policy?.id).toBe(policyRef("end").id);
    // A new try starts empty, and is the one that is shown.
    await recordIteration(db, { ...row, try: 2, pool: null });
    const again = await showExperiment(db, "demo-2");
    expect(again.iterations[1]).toMatchObject({ try: 2, pool: { admitted: 0, dropped: 0, refined: 0 } });
  });

  it("says that an experiment is not there", async () => {
    await expect(showExperiment(db, "none")).rejects.toMatchObject({
      kind: "missing",
      message: 'no experiment "none" is recorded (tadpole list shows all)',
    });
    await expect(readCost(db, "none")).rejects.toMatchObject({
      message: 'no experiment "none" is recorded (tadpole list shows all)',
    });
  });

  it("says that a task is not there, and how ids look where it cannot be one", async () => {
    const message = async (id: string) =>
      (await showTask(db, artifacts, id).catch((error: Error) => error)) as Error;
    expect((await message("t0123456789abcdef")).message).toBe(
      "no task t0123456789abcdef is recorded (tadpole task list shows all)",
    );
    expect((await message("t12")).message).toBe(
      "no task t12 is recorded: expected t and 16 hex digits (tadpole task list shows all)",
    );
  });

  it("lists all, newest first", async () => {
    const listed = (await listExperiments(db)).map(({ name, iterations }) => [name, iterations]);
    expect(listed).toEqual([
      ["demo-2", 1],
      ["demo", 1],
    ]);
  });
});

describe("series", () => {
  it("count probes before and after refinement", async () => {
    expect(await poolSeries(db, "demo")).toEqual([
      {
        iteration: 1,
        before: { runs: 4, counts: [1, 0, 1, 0, 1] },
        after: { runs: 4, counts: [0, 1, 1, 0, 1] },
        admitted: { runs: 4, counts: [0, 1, 1, 0, 0] },
      },
    ]);
  });

  it("give each update its groups' means and its trainer's metrics", async () => {
    const [first, second, ...rest] = await updateSeries(db, "demo");
    expect(rest).toEqual([]);
    expect(first).toEqual({
      iteration: 1,
      update: 1,
      policy: policyRef("end").id,
      groups: 2,
      kept: 2,
      dropped: 0,
      zeroVariance: 0,
      meanReward: 3 / 8,
      passRate: 3 / 8,
      meanTurns: 3.5,
      loss: -0.1,
      entropy: 1.5,
      gradientNorm: 2,
      effectiveSampleSize: 15,
      maskRate: 0.25,
      pace: null,
    });
    expect(second).toMatchObject({ update: 2, policy: null, zeroVariance: 1, meanReward: 1, loss: null });
  });

  it("count the admitted tasks by kind, environment and level", async () => {
    expect(await taskMix(db, "demo")).toEqual([
      { iteration: 1, kinds: { "mutation bug": 2 }, environments: { minimist: 2 }, levels: { 1: 1, 2: 1 } },
    ]);
  });
});

describe("details", () => {
  it("join a rollout with its statement and trajectory", async () => {
    const detail = await showRollout(db, artifacts, "demo/it/1/try/1/task/0/probe/0/1");
    expect(detail.row).toMatchObject({ outcome: "passed", reward: 1, member: 1 });
    expect(detail.statement.text).toBe("add(1, 2) prints -1 (level 1).");
    expect(detail.trajectory.messages.at(-1)).toEqual({ role: "assistant", content: "Fixed <b>add</b>." });
    await expect(showRollout(db, artifacts, "demo/0")).rejects.toMatchObject({ kind: "missing" });
  });

  it("show a rollout's flags by its verdict's log, none where it is older than flags", async () => {
    const key = "demo/it/1/try/1/task/0/probe/0/1";
    const flagsWith = async (found: object) => {
      const log = await putJson(artifacts, found, "log");
      const verdict_log = JSON.stringify(log);
      await db.updateTable("rollouts").set({ verdict_log }).where("key", "=", key).execute();
      return (await showRollout(db, artifacts, key)).flags;
    };
    expect((await showRollout(db, artifacts, key)).flags).toBeNull();
    expect(await flagsWith({ rule: "all-passed", flags: ["special-casing"] })).toEqual(["special-casing"]);
    expect(await flagsWith({ rule: "all-passed" })).toBeNull();
  });

  it("join a task with its statements, validations and probes", async () => {
    const detail = await showTask(db, artifacts, testTask(1).id);
    expect(detail.task).toEqual(testTask(1));
    expect(detail.statements.map(({ level }) => level)).toEqual([1, 2]);
    expect(detail.validations.map(({ scope, outcome }) => [scope, outcome])).toEqual([
      ["demo-2/it/1/try/1", "valid"],
      ["demo/it/1/try/1", "valid"],
    ]);
    const probes = detail.probes.filter(({ scope }) => scope === "demo/it/1/try/1");
    expect(probes.map(({ refinement, passes, decision }) => [refinement, passes, decision])).toEqual([
      [0, 0, "refine"],
      [1, 1, "admit"],
    ]);
  });
});

describe("progress", () => {
  const phase = (detail: { iteration: number; try?: number; phase: string }) =>
    recordEvent(db, {
      key: `demo-2/${detail.iteration}/${detail.try ?? ""}/${detail.phase}`,
      experiment: "demo-2",
      kind: "phase",
      detail,
    });

  it("tells the pool and the updates of the try that the last phase names", async () => {
    await phase({ iteration: 1, try: 1, phase: "climb again" });
    const first = (await readProgress(db, "demo-2"))!;
    expect(first).toMatchObject({ phase: "climb again", iteration: 1 });
    expect(first.pool.candidates).toBeGreaterThan(1);
    expect(first.update).toBeGreaterThan(0);
    await phase({ iteration: 1, try: 2, phase: "pool" });
    await recordValidation(db, {
      scope: "demo-2/it/1/try/2",
      candidate: 0,
      task_id: null,
      generator: "mutation",
      outcome: "build",
      gates: [],
    });
    const second = (await readProgress(db, "demo-2"))!;
    expect(second).toMatchObject({ phase: "pool", iteration: 1, update: 0 });
    expect(second.pool).toMatchObject({ candidates: 1, rejected: 1, probes: 0, admitted: 0 });
  });

  it("is where its iteration is, once it was taken up again after it failed", async () => {
    await phase({ iteration: 0, phase: "failed" });
    await setStatus(db, "demo-2", "failed");
    expect(await readProgress(db, "demo-2")).toMatchObject({ phase: "failed" });
    await setStatus(db, "demo-2", "running");
    const row = {
      experiment: "demo-2",
      iteration: 7,
      try: 1,
      start_policy: policyRef("start").id,
      end_policy: null,
      pinned: {},
    };
    await recordIteration(db, { ...row, status: "failed" });
    expect(await readProgress(db, "demo-2")).toMatchObject({ iteration: 7, phase: "taken up again" });
    await recordIteration(db, { ...row, status: "pool" });
    expect(await readProgress(db, "demo-2")).toMatchObject({ iteration: 7, phase: "pool" });
    await setStatus(db, "demo-2", "done");
  });

  it("is null for an experiment that is not on record", async () => {
    expect(await readProgress(db, "nothing")).toBeNull();
  });
});

describe("the pool of an iteration", () => {
  it("is what it admitted, in order, without what it did not read any more", async () => {
    const read = (last: number) =>
      db.updateTable("iterations").set({ last_candidate: last }).where("experiment", "=", "demo").execute();
    await expect(poolOf(db, "demo", 1)).rejects.toMatchObject({ kind: "missing" });
    await read(3);
    const [first, second] = [testTask(0), testTask(1)];
    expect(await poolOf(db, "demo", 1)).toEqual([
      { taskId: first.id, environment: "minimist", level: 1, passRate: 0.5 },
      { taskId: second.id, environment: "minimist", level: 2, passRate: 0.25 },
    ]);
    await read(0);
    expect((await poolOf(db, "demo", 1)).map(({ taskId }) => taskId)).toEqual([first.id]);
    await expect(poolOf(db, "demo", 2)).rejects.toMatchObject({ kind: "missing" });
  });
});
