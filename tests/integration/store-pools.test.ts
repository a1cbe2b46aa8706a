/** What is said of pools: candidates by what they came to, novelty, the words of statements; of pools with and without a filter, and given ones. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { showPools, showTask, tasksPage } from "../../apps/control/index.ts";
import { HARNESS_VERSION } from "../../services/harness/index.ts";
import {
  comparedRecord,
  createExperiment,
  failingGroups,
  hashJson,
  planTrial,
  putJson,
  recordBatch,
  recordIteration,
  recordPiece,
  recordPolicy,
  recordStatement,
  recordTask,
  recordValidation,
} from "../../services/store/index.ts";
import type { TaskFilters } from "../../services/store/pages.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import {
  policyRef,
  recordTestExperiment,
  recordTestGroup,
  testSettings,
  testStatement,
  testTask,
} from "../support/record.ts";

let record: TestRecord;
beforeAll(async () => {
  record = await openTestRecord();
  await recordTestExperiment(record.db, record.artifacts, "calibrated");
}, 60_000);
afterAll(() => record?.close());

describe("tasks by what probing came to", () => {
  const ids = async (filters: TaskFilters) =>
    (await tasksPage(record, { filters })).items.map(({ id }) => id);
  const [atOnce, later, dropped] = [0, 1, 2].map((index) => testTask(index).id);

  it("are those that the pool admitted, gave up, and never probed, of any experiment or of one", async () => {
    expect(await ids({ outcome: "admitted" })).toEqual([atOnce, later]);
    expect(await ids({ outcome: "dropped", experiment: "calibrated" })).toEqual([dropped]);
    expect(await ids({ outcome: "revised" })).toEqual([]);
    expect(await ids({ outcome: "unprobed" })).toEqual([]);
    // Probes of another iteration, or of none that is there, are not asked for.
    expect(await ids({ outcome: "admitted", iteration: 2 })).toEqual([]);
    expect(await ids({ outcome: "admitted", iteration: 1, type: "feature" })).toEqual([]);
  });
});

/** The task's last probe as one of this policy, with a label of the statement, harness, limits and sampling that are there now. */
async function relabel(task: string, policy: string): Promise<void> {
  const { limits, sampling } = testSettings({}).rollout;
  const { statements, probes } = await showTask(record, task);
  const { level } = probes.at(-1)!;
  const statement = statements.find((each) => each.level === level)!.hash;
  const label_key = hashJson({ task, statement, policy, harness: HARNESS_VERSION, limits, sampling });
  await record.db
    .updateTable("probes")
    .set({ policy, label_key })
    .where("task_id", "=", task)
    .where("level", "=", level)
    .execute();
}

const latest = { policy: "latest", harness: HARNESS_VERSION };

describe("the rollout of a task that is asked for by hand", () => {
  it("is by the latest policy of the experiment that made the task, on the statement of the last label that holds", async () => {
    const { db } = record;
    const [first, refined] = [testTask(0).id, testTask(1).id];
    expect((await planTrial(db, { task: refined, ...latest })).level).toBe(1);
    await relabel(refined, policyRef("end").id);
    const plan = await planTrial(db, { task: refined, ...latest });
    expect(plan).toMatchObject({
      scope: { experiment: "calibrated", iteration: 1 },
      policy: { id: policyRef("end").id },
      task: { id: refined },
      level: 2,
    });
    const elder = { ...latest, policy: policyRef("start").id };
    expect((await planTrial(db, { task: refined, ...elder })).level).toBe(1);
    const chosen = { task: first, experiment: "calibrated", ...elder, level: 2 };
    expect(await planTrial(db, chosen)).toMatchObject({ policy: { id: policyRef("start").id }, level: 2 });
    await expect(planTrial(db, { ...chosen, level: 0 })).rejects.toThrow(
      `task ${first} has no statement of level 0: there is 1, 2`,
    );
    await expect(planTrial(db, { ...chosen, policy: "nobody" })).rejects.toMatchObject({ kind: "missing" });
    await expect(planTrial(db, { ...chosen, task: "t0" })).rejects.toMatchObject({ kind: "missing" });
  });

  it("needs an experiment where none made the task", async () => {
    const task = testTask(20);
    await recordTask(record.db, task, await putJson(record.artifacts, task, "task"));
    await recordStatement(record.db, testStatement(task.id, 3, "all of it"));
    await expect(planTrial(record.db, { task: task.id, ...latest })).rejects.toThrow(
      /is in no pool of an experiment: name the experiment/,
    );
    const plan = await planTrial(record.db, { task: task.id, ...latest, experiment: "calibrated" });
    expect(plan.level).toBe(3);
  });
});

it("says of each probe and revision whether its label still holds for the experiment's last policy", async () => {
  const { id } = testTask(0);
  const labels = async () => {
    const { probes, lineage } = await showTask(record, id);
    return [...probes, ...lineage.flatMap(({ revisions }) => revisions)].map(({ label }) => label);
  };
  const unknown = "void: another statement, harness, limits or sampling";
  expect(await labels()).toEqual([unknown, unknown]);
  await relabel(id, policyRef("end").id);
  expect(await labels()).toEqual(["valid", "valid"]);
  await relabel(id, policyRef("start").id);
  expect(await labels()).toEqual(["void: another policy", "void: another policy"]);
});

describe("the pool of an iteration", () => {
  it("tells candidates by what they came to, and what was learnable before and after refinement", async () => {
    const scope = { experiment: "calibrated", iteration: 1, try: 1 };
    const piece = (index: number, what: object) =>
      recordPiece(record.db, scope, { kind: "candidate", contentKey: `c${index}` }, { index, ...what });
    await piece(0, { candidate: {} });
    await piece(4, { none: "no place for it" });
    await piece(5, { candidate: {} });
    const { pools } = await showPools(record, "calibrated");
    expect(pools).toMatchObject([
      {
        iteration: 1,
        given: false,
        candidates: 4,
        valid: 3,
        probed: 3,
        learnableAtFirst: 1,
        learnableAtLast: 2,
        refined: 1,
        admitted: 2,
        rejected: { "fail-to-pass": 1 },
        dropped: { "too-easy-at-least-specific": 1 },
        // Whether the last one comes to be a candidate is open while the pool is.
        leftOut: { "no place for it": 1 },
        types: { bug: 2 },
        kinds: { "mutation bug": 2 },
        environments: { minimist: 2 },
        levels: { "1": 1, "2": 1 },
        statementWords: 6,
        churn: null,
        perAdmitted: { count: 2, usd: 0 },
        groups: 1,
        zeroVariance: 1,
        updates: 1,
        hinted: 0,
        rollouts: { probe: 16, hints: 0, climb: 4 },
      },
    ]);
  });

  it("counts no candidate that was begun beside those that were needed", async () => {
    const settings = testSettings({ seed: 3, iterations: 1 });
    const row = {
      experiment: "calibrated",
      iteration: 1,
      try: 1,
      start_policy: policyRef("start").id,
      end_policy: policyRef("end").id,
      pool: null,
      pinned: { settings },
      status: "finished",
    };
    await recordIteration(record.db, { ...row, last_candidate: 1 });
    const [pool] = (await showPools(record, "calibrated")).pools;
    expect(pool).toMatchObject({
      candidates: 2,
      probed: 2,
      dropped: {},
      rejected: {},
      leftOut: {},
      rollouts: { probe: 12 },
      lastProbe: { counts: [0, 1, 1, 0, 0] },
    });
    await recordIteration(record.db, { ...row, last_candidate: 5 });
    expect((await showPools(record, "calibrated", 1)).pools[0]!.leftOut).toEqual({
      "made before, or beyond a cap of the pool": 1,
      "no place for it": 1,
    });
  });

  it("without a filter holds every valid task; a given one those of another iteration; new is what the one before had not", async () => {
    const { db, artifacts } = record;
    const settings = testSettings({ seed: 4, iterations: 3 });
    await createExperiment(db, { name: "plain", settings, codeVersion: "0.1.0" });
    await recordPolicy(db, "nano", policyRef("start"));
    const functions = [
      ["minimist#index.js#add"],
      ["minimist#index.js#subtract"],
      ["minimist#index.js#subtract", "minimist#lib/other.js#scale"],
    ];
    const tasks = functions.map((names, index) => ({ ...testTask(10 + index), functions: names }));
    for (const task of tasks) {
      await recordTask(db, task, await putJson(artifacts, task, "task"));
      await recordStatement(db, testStatement(task.id, 1, "three plain words"));
    }
    const iteration = async (number: number, of: readonly number[], given = false) => {
      const row = {
        experiment: "plain",
        iteration: number,
        try: 1,
        start_policy: policyRef("start").id,
        end_policy: null,
        pool: null,
        status: "climb",
        pinned: {
          settings,
          ...(given
            ? { pool: of.map((index) => ({ taskId: tasks[index]!.id, level: 1, passRate: null })) }
            : {}),
        },
      };
      await recordIteration(db, { ...row, last_candidate: given ? -1 : of.length - 1 });
      if (given) return;
      for (const [candidate, index] of of.entries())
        await recordValidation(db, {
          scope: `plain/it/${number}/try/1`,
          candidate,
          task_id: tasks[index]!.id,
          generator: "mutation",
          outcome: "valid",
          gates: [],
        });
    };
    await iteration(1, [0, 1]);
    await iteration(2, [1, 2]);
    await iteration(3, [1, 2], true);
    await recordTestGroup(db, artifacts, {
      key: "plain/it/2/try/1/climb/1/0",
      experiment: "plain",
      iteration: 2,
      phase: "climb",
      task: tasks[1]!,
      passes: 1,
      size: 2,
    });
    const { pools } = await showPools(record, "plain");
    expect(pools.map(({ admitted, given, probed }) => [admitted, given, probed])).toEqual([
      [2, false, 0],
      [2, false, 0],
      [2, true, 0],
    ]);
    expect(pools.map(({ churn }) => churn)).toEqual([
      null,
      { functions: { new: 1, of: 2 }, files: { new: 1, of: 2 } },
      { functions: { new: 0, of: 2 }, files: { new: 0, of: 2 } },
    ]);
    // A given one cost nothing to make.
    expect(pools.map(({ perAdmitted }) => perAdmitted?.count ?? null)).toEqual([2, 2, null]);
    expect(pools[1]).toMatchObject({ groups: 1, zeroVariance: 0, statementWords: 3, levels: { "1": 2 } });
    // One alone is still compared with the one before.
    expect((await showPools(record, "plain", 2)).pools).toEqual([pools[1]]);
  });

  it("counts hinted tasks and their rollouts apart, and rollouts of a probe that nothing was decided by", async () => {
    const { db, artifacts } = record;
    const experiment = "hinting";
    const row = { experiment, iteration: 1, try: 1, start_policy: policyRef("start").id, end_policy: null };
    const settings = testSettings({ seed: 5, iterations: 1 });
    await createExperiment(db, { name: experiment, settings, codeVersion: "0.1.0" });
    await recordPolicy(db, "nano", policyRef("start"));
    await recordIteration(db, {
      ...row,
      ...{ pool: null, pinned: { settings }, status: "climb", last_candidate: 1 },
    });
    const scope = `${experiment}/it/1/try/1`;
    const [task, other] = [testTask(30), testTask(31)];
    for (const one of [task, other]) await recordTask(db, one, await putJson(artifacts, one, "task"));
    const group = (key: string, phase: string, of: typeof task, passes: number, size: number) =>
      recordTestGroup(db, artifacts, { key: `${scope}/${key}`, experiment, phase, task: of, passes, size });
    await group("task/0/probe/0", "probe", task, 0, 4);
    await group("task/0/hint/2", "probe", task, 0, 4);
    await group("task/0/hint/3", "probe", task, 1, 4);
    await group("task/1/probe/0", "probe", other, 1, 3);
    // Begun beside those that were needed.
    await group("task/2/probe/0", "probe", other, 0, 4);
    await group("climb/1/0", "climb", task, 0, 2);
    await group("climb/1/1", "climb", other, 1, 2);
    const batch = { ...policyRef("start").checkpoint, kind: "batch" as const };
    await recordBatch(db, {
      ...{ experiment, iteration: 1, try: 1, update: 1, kept_groups: 1, dropped_groups: 1, artifact: batch },
      groups: [`${scope}/climb/1/0`, `${scope}/climb/1/1`],
    });
    expect((await showPools(record, experiment)).pools).toMatchObject([
      { hinted: 1, groups: 1, zeroVariance: 0, rollouts: { probe: 7, hints: 8, climb: 4 } },
    ]);
    expect((await comparedRecord(db, experiment)).statistics).toMatchObject({
      hinted: 1,
      rollouts: { probe: 7, hints: 8, climb: 4 },
      spent: [{ iteration: 1, rollouts: 19 }],
    });
    // Of the two that were climbed one has a hint, and the other did not mostly fail.
    expect((await failingGroups(db, { experiment, iteration: 1, try: 1 }, 4)).climbed).toEqual([]);
  });

  it("is asked for of what is there", async () => {
    await expect(showPools(record, "nowhere")).rejects.toMatchObject({ kind: "missing" });
    await expect(showPools(record, "plain", 9)).rejects.toThrow('experiment "plain" has no iteration 9');
  });
});
