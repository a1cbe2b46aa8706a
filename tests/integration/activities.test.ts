/** Activities on a real record: what counts as a sample, which tasks are admitted, what reaches the trainer, what it leaves behind. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGpuActivities, createRecordActivities, type SandboxServices } from "../../activities/index.ts";
import type { FilterInput, GroupInput } from "../../activities/types.ts";
import type { ArtifactRef } from "../../core/artifact.ts";
import { shortKey } from "../../core/candidates.ts";
import type { Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { encodeCheckpoint, freshCheckpoint, openConversation } from "../../services/policy/index.ts";
import { findGroup, getJson, listRollouts, recordStatement } from "../../services/store/index.ts";
import { createNanoTrainer, decodeBatch, encodeBatch } from "../../services/trainers/index.ts";
import { testStatement } from "../support/record.ts";
import { smallestSettings as settings } from "../support/smallest.ts";
import { rolloutBatch, someWeights } from "../unit/trainer-rollouts.ts";
import {
  type ActivityBench,
  call,
  groupOf,
  makeTask,
  openActivityBench,
  POLICY,
  recordGraded,
  recordRollouts,
  sandboxActivities,
} from "./activities-services.ts";

let bench: ActivityBench;
let services: SandboxServices;
let task: Task;

beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  ({ task } = await makeTask(services, "text-table"));
}, 300_000);
afterAll(() => bench?.close());

const group = (change: Partial<GroupInput>): GroupInput => groupOf(settings, task.id, change);

describe("synthesise", () => {
  it("draws no candidate that was used before, and any other as it would have", async () => {
    const sandbox = sandboxActivities(services);
    const record = createRecordActivities(services);
    const environment = await call(sandbox.prepareEnvironment, { name: "text-table", repeats: 1 });
    const draw = (exclude: ArtifactRef | null) =>
      call(sandbox.synthesise, {
        seed: 3,
        randomKeys: [1, "pool"],
        environments: [environment],
        choice: "random",
        functions: "all",
        mix: { mutation: 1, combination: 0, removal: 0 },
        heldOutShare: 0.3,
        exclude,
        from: 0,
        count: 6,
      });
    const all = await draw(null);
    const [first, second, ...rest] = all.candidates;
    const note = (before: ArtifactRef | null, key: string) =>
      call(record.noteUsed, { experiment: "e", before, keys: [shortKey(key)] });
    const used = await note(await note(null, first!.key), second!.key);
    const left = await draw(used);
    expect(left.candidates).toEqual(rest.filter(({ key }) => key !== first!.key && key !== second!.key));
    expect(left.empty.map(({ index }) => index)).toEqual(
      expect.arrayContaining([first!.index, second!.index]),
    );
    expect(left.candidates.length + left.empty.length).toBe(6);
  });
});

describe("verify", () => {
  const verify = (input: GroupInput) => call(sandboxActivities(services).verify, input);

  it("makes verdicts raw and shaped rewards, a truncated success half of one, and grades no rollout again", async () => {
    const input = group({ key: "verify/mixed", size: 4 });
    await recordRollouts(services, input, [
      { outcome: "passed" },
      { outcome: "passed", exit: "max_turns" },
      { outcome: "failed", claim: "All tests pass now." },
      { outcome: "failed", exit: "max_context_len" },
    ]);
    const before = bench.graded.length;
    const output = await verify(input);
    expect(output).toEqual({
      key: "verify/mixed",
      passes: 2,
      size: 4,
      meanReward: 0.375,
      zeroVariance: false,
    });
    expect(await listRollouts(services.db, "verify/mixed")).toMatchObject([
      { outcome: "passed", rule: "all-passed", raw_reward: 1, reward: 1 },
      { outcome: "passed", rule: "all-passed", raw_reward: 1, reward: 0.5 },
      { outcome: "failed", rule: "fail-to-pass-failed", raw_reward: 0, reward: 0 },
      { outcome: "failed", rule: "fail-to-pass-failed", raw_reward: 0, reward: 0 },
    ]);
    const logs = (await listRollouts(services.db, "verify/mixed")).map(
      (row) => row.verdict_log as ArtifactRef,
    );
    expect(await Promise.all(logs.map((ref) => getJson(services.artifacts, ref)))).toMatchObject([
      { rule: "all-passed", statuses: {}, log: "passed\n", mode: "cold", wallSeconds: 0, flags: [] },
      { rule: "all-passed", log: "passed\n", flags: [] },
      { rule: "fail-to-pass-failed", log: "failed\n", flags: ["false-claims"] },
      { rule: "fail-to-pass-failed", log: "failed\n", flags: [] },
    ]);
    expect(await findGroup(services.db, "verify/mixed")).toMatchObject({
      passes: 2,
      size: 4,
      mean_reward: 0.375,
    });
    expect(await verify(input)).toEqual(output);
    expect(bench.graded).toHaveLength(before + 4);
  });

  it("throws a failure that is tried again when the host lost a grading: no reward, no group", async () => {
    const input = group({ key: "verify/lost", size: 2 });
    await recordRollouts(services, input, [{ outcome: "infrastructure" }, { outcome: "passed" }]);
    await expect(verify(input)).rejects.toMatchObject({
      type: "Infrastructure",
      nonRetryable: false,
      message: expect.stringContaining("verify/lost/0: the host went away"),
    });
    expect(await listRollouts(services.db, "verify/lost")).toMatchObject([
      { outcome: null, raw_reward: null, reward: null },
      { outcome: null, raw_reward: null, reward: null },
    ]);
    expect(await findGroup(services.db, "verify/lost")).toBeUndefined();
  });
});

describe("assemble", () => {
  const assemble = (groups: readonly string[], update: number) =>
    call(createRecordActivities(services).assemble, {
      scope: { experiment: "assemble", iteration: 1, try: 1 },
      update,
      groups,
      advantage: { estimator: "group-std-population" },
    });
  const recorded = (update: number) =>
    services.db
      .selectFrom("batches")
      .selectAll()
      .where("experiment", "=", "assemble")
      .where("update", "=", update)
      .executeTakeFirstOrThrow();

  it("gives every segment the advantage of its rollout's shaped reward, and leaves out groups without variance", async () => {
    const twoSegments: Trajectory["segments"] = [
      { tokens: [1, 2, 3], trainable: [0, 1, 1], logProbs: [0, -0.5, -1] },
      { tokens: [4, 5], trainable: [0, 1], logProbs: [0, -2] },
    ];
    await recordGraded(services, group({ key: "assemble/mixed" }), [
      { outcome: "passed", segments: twoSegments },
      { outcome: "passed", exit: "max_turns" },
      { outcome: "failed" },
      { outcome: "failed" },
    ]);
    // Solved by all, one of them cut short: shaped rewards differ, raw ones do not.
    await recordGraded(services, group({ key: "assemble/solved" }), [
      { outcome: "passed" },
      { outcome: "passed", exit: "max_turns" },
    ]);
    await recordGraded(services, group({ key: "assemble/unsolved" }), [
      { outcome: "failed" },
      { outcome: "failed" },
    ]);
    const groups = ["assemble/solved", "assemble/mixed", "assemble/unsolved"];
    const { batch, kept, dropped } = await assemble(groups, 1);
    expect({ kept, dropped }).toEqual({ kept: 1, dropped: 2 });
    const rows = decodeBatch(await services.artifacts.get(batch!));
    expect(new Set(rows.map((row) => row.group))).toEqual(new Set(["assemble/mixed"]));
    expect(rows.map(({ rollout, reward, raw }) => [rollout, reward, raw])).toEqual([
      ["assemble/mixed/0", 1, 1],
      ["assemble/mixed/0", 1, 1],
      ["assemble/mixed/1", 0.5, 1],
      ["assemble/mixed/2", 0, 0],
      ["assemble/mixed/3", 0, 0],
    ]);
    // Rewards 1, 0.5, 0, 0: mean 0.375, variance (0.390625 + 0.015625 + 2 * 0.140625) / 4 = 0.171875, deviation 0.414578.
    const expected = [1.507553, 1.507553, 0.301511, -0.904532, -0.904532];
    for (const [i, row] of rows.entries()) expect(row.advantage).toBeCloseTo(expected[i]!, 5);
    expect(rows.slice(0, 2).map((row) => [...row.tokens])).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(rows.slice(0, 2).map((row) => [...row.trainable])).toEqual([
      [0, 1, 1],
      [0, 1],
    ]);
    expect(rows.slice(0, 2).map((row) => [...row.logProbs])).toEqual([
      [0, -0.5, -1],
      [0, -2],
    ]);
    expect(await recorded(1)).toMatchObject({ groups, kept_groups: 1, dropped_groups: 2, artifact: batch });
    expect((await assemble(groups, 1)).batch).toEqual(batch);
  });

  it("trains a balanced group on the members that it is cut to, with advantages among these alone", async () => {
    await recordGraded(services, group({ key: "assemble/grown" }), [
      { outcome: "failed" },
      { outcome: "failed" },
      { outcome: "failed" },
      { outcome: "passed" },
      { outcome: "failed" },
      { outcome: "passed" },
    ]);
    const { batch, kept } = await call(createRecordActivities(services).assemble, {
      scope: { experiment: "assemble", iteration: 1, try: 1 },
      update: 3,
      groups: ["assemble/grown"],
      advantage: { estimator: "group-std-population" },
      plan: { kind: "balanced", size: 4, maxSize: 8 },
    });
    expect(kept).toBe(1);
    const rows = decodeBatch(await services.artifacts.get(batch!));
    expect(rows.map(({ rollout, raw }) => [rollout, raw])).toEqual([
      ["assemble/grown/0", 0],
      ["assemble/grown/1", 0],
      ["assemble/grown/3", 1],
      ["assemble/grown/5", 1],
    ]);
    for (const { raw, advantage } of rows) expect(advantage).toBeCloseTo(raw === 1 ? 1 : -1, 5);
  });

  describe("of an asynchronous climb", () => {
    const left = { refreshed: { "too-slow": 1 }, dropped: {} };
    const offer = (versions: readonly string[]) =>
      call(createRecordActivities(services).assemble, {
        scope: { experiment: "assemble", iteration: 1, try: 1 },
        update: 4,
        groups: ["assemble/aged"],
        advantage: { estimator: "group-std-population" },
        pace: { versions, left, waitedSeconds: 3, idleShare: 0.25 },
      });

    it("counts the tokens it trains on by their age, and records its pace", async () => {
      const segments = [{ tokens: [1, 2, 3], trainable: [0, 1, 1], logProbs: [0, -0.5, -1] }] as const;
      await recordGraded(services, group({ key: "assemble/aged" }), [
        { outcome: "passed", segments },
        { outcome: "failed", segments },
      ]);
      const asked = group({}).policy.id;
      await services.db
        .updateTable("rollouts")
        .set({ versions: JSON.stringify({ [asked]: 5, newer: 2 }) })
        .where("key", "=", "assemble/aged/0")
        .execute();
      const whole = await services.db
        .selectFrom("rollouts")
        .select("generated_tokens")
        .where("key", "=", "assemble/aged/1")
        .executeTakeFirstOrThrow();
      const lags = [2, 5 + whole.generated_tokens];
      expect(await offer([asked, "newer"])).toMatchObject({ kept: 1, lags });
      expect((await recorded(4)).pace).toEqual({ lags, left, waitedSeconds: 3, idleShare: 0.25 });
    });

    it("holds no token that is too old, whoever offers its group", async () => {
      await expect(offer(["newer", "newest"])).rejects.toThrow(
        /assemble\/aged has tokens of .*, too old for update 4/,
      );
    });
  });

  it("makes no batch of groups that are all without variance, and records that it did not", async () => {
    expect(await assemble(["assemble/solved", "assemble/unsolved"], 2)).toEqual({
      batch: null,
      kept: 0,
      dropped: 2,
    });
    expect(await recorded(2)).toMatchObject({ kept_groups: 0, dropped_groups: 2, artifact: null });
  });
});

describe("filter", () => {
  const probe = (passes: number, change: Partial<FilterInput> = {}) => {
    const input: FilterInput = {
      recordScope: "filter",
      candidate: passes,
      taskId: task.id,
      level: 2,
      refinement: 0,
      probed: [2],
      group: group({ key: `filter/${passes}`, phase: "probe", size: 8 }),
      passes,
      filter: { ...settings.filter, probes: 8, band: { low: 0.25, high: 0.75 }, maxRefinements: 1 },
      levels: { min: 1, max: 3 },
      ...change,
    };
    return call(createRecordActivities(services).filter, input);
  };

  it("admits from the band's low edge to its high one, and asks for more or fewer words outside", async () => {
    const raise = { action: "raise-level", level: 3 };
    const lower = { action: "lower-level", level: 1 };
    const admit = { action: "admit" };
    const expected = [raise, raise, admit, admit, admit, admit, admit, lower, lower];
    for (const [passes, decision] of expected.entries()) {
      const { diagnosis, ...action } = await probe(passes);
      expect(action).toEqual(decision);
      expect(diagnosis === undefined).toBe(action.action === "admit");
    }
    const rows = await services.db
      .selectFrom("probes")
      .selectAll()
      .where("scope", "=", "filter")
      .orderBy("candidate")
      .execute();
    expect(rows.map(({ passes, runs, decision }) => [passes, runs, decision])).toEqual(
      expected.map(({ action }, passes) => [passes, 8, action]),
    );
    expect(rows[2]).toMatchObject({ task_id: task.id, level: 2, policy: POLICY.id, group_key: "filter/2" });
  });

  it("drops with the reason once it has refined enough, and labels apply to one level", async () => {
    await recordStatement(services.db, testStatement(task.id, 3, "said more exactly"));
    const again = { recordScope: "filter-2", refinement: 1, level: 3, probed: [2, 3] } as const;
    expect(await probe(1, again)).toMatchObject({ action: "drop", reason: "too-hard-at-most-specific" });
    expect(await probe(7, again)).toMatchObject({ action: "drop", reason: "between-levels" });
    const rows = await services.db
      .selectFrom("probes")
      .select(["scope", "candidate", "level", "decision", "label_key"])
      .where("scope", "in", ["filter", "filter-2"])
      .where("candidate", "in", [1, 7])
      .orderBy("scope")
      .orderBy("candidate")
      .execute();
    expect(rows.map(({ decision }) => decision)).toEqual([
      "raise-level",
      "lower-level",
      "drop: too-hard-at-most-specific",
      "drop: between-levels",
    ]);
    const labels = rows.map((row) => row.label_key);
    expect(labels[0]).toBe(labels[1]);
    expect(labels[2]).not.toBe(labels[0]);
  });
});

describe("update", () => {
  const weights = someWeights(1);
  const rows = rolloutBatch(weights, 1, 2, 4);
  const run = async (change: {
    readonly freshOptimizer: boolean;
    readonly parent?: typeof POLICY;
    readonly update: number;
  }) => {
    const trainer = createNanoTrainer({ artifacts: services.artifacts, openConversation });
    const { startPolicy, update } = createGpuActivities({
      ...services,
      trainer,
      startCheckpoint: () => services.artifacts.put(encodeCheckpoint(freshCheckpoint(weights)), "policy"),
    });
    const start = await call(startPolicy, { seed: 1, kind: "nano" });
    const parent = change.parent ?? start;
    const policy = await call(update, {
      scope: { experiment: "update", iteration: 1, try: 1 },
      update: change.update,
      batch: await services.artifacts.put(encodeBatch(rows), "batch"),
      kept: 2,
      dropped: 1,
      parent,
      freshOptimizer: change.freshOptimizer,
      loss: settings.loss,
      optimizer: settings.optimizer,
    });
    await trainer.close();
    return { start, policy };
  };
  const policies = () => services.db.selectFrom("policies").select(["id", "parent", "step"]).execute();

  it("records one policy, named by its content, however often it runs", async () => {
    const first = await run({ freshOptimizer: true, update: 1 });
    expect(await run({ freshOptimizer: true, update: 1 })).toEqual(first);
    const { start, policy } = first;
    expect(policy).toMatchObject({ parent: start.id, step: 1 });
    expect(policy.id).not.toBe(start.id);
    const known = (await policies()).filter(({ id }) => id === start.id || id === policy.id);
    expect(known).toHaveLength(2);
    expect(known).toContainEqual({ id: policy.id, parent: start.id, step: 1 });
    const updates = await services.db
      .selectFrom("updates")
      .selectAll()
      .where("experiment", "=", "update")
      .execute();
    expect(updates).toMatchObject([
      {
        iteration: 1,
        try: 1,
        update: 1,
        parent_policy: start.id,
        policy: policy.id,
        kept_groups: 2,
        dropped_groups: 1,
      },
    ]);
    expect(updates[0]!.metrics.gradientNorm).toBeGreaterThan(0);
  });

  it("goes on from its parent's moments, or from none where the optimizer is fresh", async () => {
    const { policy: parent } = await run({ freshOptimizer: true, update: 1 });
    const { policy: continued } = await run({ freshOptimizer: false, update: 2, parent });
    const { policy: fresh } = await run({ freshOptimizer: true, update: 3, parent });
    expect(continued).toMatchObject({ parent: parent.id, step: 2 });
    expect(fresh).toMatchObject({ parent: parent.id, step: 1 });
    expect(continued.id).not.toBe(fresh.id);
  });
});
