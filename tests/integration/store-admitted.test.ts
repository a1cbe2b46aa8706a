/** What a pool admitted is told alike by whoever asks, whether or not anything was probed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tasksPage } from "../../apps/control/index.ts";
import {
  admittedTasks,
  createExperiment,
  poolOf,
  putJson,
  readCost,
  readProgress,
  recordEvent,
  recordIteration,
  recordPolicy,
  recordStatement,
  recordTask,
  recordValidation,
  showExperiment,
  taskMix,
} from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { policyRef, recordTestExperiment, testSettings, testStatement, testTask } from "../support/record.ts";

const TASKS = [0, 2, 4].map((index) => testTask(10 + index));
const IDS = TASKS.map(({ id }) => id);

let record: TestRecord;

/** Two tries of a pool that probes nothing. */
async function recordPlain(): Promise<void> {
  const { db, artifacts } = record;
  const settings = testSettings({ seed: 4, iterations: 2 });
  await createExperiment(db, { name: "plain", settings, codeVersion: "0.1.0" });
  await recordPolicy(db, "nano", policyRef("start"));
  for (const task of TASKS) {
    await recordTask(db, task, await putJson(artifacts, task, "task"));
    await recordStatement(db, testStatement(task.id, 1, "three plain words"));
  }
  const phase = { kind: "phase", detail: { iteration: 1, try: 1, phase: "climb" } };
  await recordEvent(db, { key: "plain/climb", experiment: "plain", ...phase });
  for (const [iteration, own] of [TASKS.slice(0, 2), TASKS.slice(1)].entries()) {
    const row = { experiment: "plain", iteration: iteration + 1, try: 1, status: "climb", pool: null };
    await recordIteration(db, {
      ...row,
      ...{ start_policy: policyRef("start").id, end_policy: null, pinned: { settings } },
    });
    for (const [candidate, task] of own.entries())
      await recordValidation(db, {
        ...{ scope: `plain/it/${iteration + 1}/try/1`, candidate, task_id: task.id },
        ...{ generator: "mutation", outcome: "valid", gates: [] },
      });
  }
}

/** Makes `candidate` the last that the pool of the first iteration read. */
const reads = (experiment: string, candidate: number) =>
  record.db
    .updateTable("iterations")
    .set({ last_candidate: candidate })
    .where("experiment", "=", experiment)
    .where("iteration", "=", 1)
    .execute();

/** By everybody who tells, of the first iteration. */
async function told(experiment: string) {
  const { db } = record;
  const filters = { experiment, iteration: 1 };
  const page = await tasksPage(record, { filters: { ...filters, outcome: "admitted" } });
  const [mix] = await taskMix(db, experiment);
  const shown = (await showExperiment(db, experiment)).iterations.find(({ iteration }) => iteration === 1);
  return {
    page: page.items.map(({ id }) => id),
    pool: (await poolOf(db, experiment, 1)).map(({ taskId }) => taskId),
    exported: (await admittedTasks(db, experiment)).map(({ taskId }) => taskId),
    figure: Object.values(mix!.kinds).reduce((sum, count) => sum + count, 0),
    shown: shown?.pool?.admitted,
    paid: (await readCost(db, experiment)).yields.reduce((sum, one) => sum + one.admitted, 0),
  };
}

beforeAll(async () => {
  record = await openTestRecord();
  await recordTestExperiment(record.db, record.artifacts, "calibrated");
  await recordPlain();
}, 60_000);
afterAll(() => record?.close());

describe("what a pool admitted", () => {
  it("is every valid task where nothing was probed", async () => {
    await reads("plain", 1);
    expect((await readProgress(record.db, "plain"))!.pool.admitted).toBe(2);
    const first = IDS.slice(0, 2);
    const all = { exported: IDS, figure: 2, shown: 2, paid: 3 };
    expect(await told("plain")).toEqual({ page: first, pool: first, ...all });
    const unprobed = { experiment: "plain", outcome: "unprobed" } as const;
    expect((await tasksPage(record, { filters: unprobed })).items).toEqual([]);
  });

  it("has nothing that was not read any more", async () => {
    await reads("plain", 0);
    const [first, , third] = IDS;
    expect(await told("plain")).toEqual({
      ...{ page: [first], pool: [first] },
      ...{ exported: [first, IDS[1], third], figure: 1, shown: 1, paid: 3 },
    });
    await reads("calibrated", 0);
    const { shown, ...others } = await told("calibrated");
    const only = testTask(0).id;
    expect(others).toEqual({ page: [only], pool: [only], exported: [only], figure: 1, paid: 1 });
    // Of a closed pool the climb's own count stands.
    expect(shown).toBe(2);
  });

  it("is what the last probe admitted", async () => {
    await reads("calibrated", 3);
    const both = [testTask(0).id, testTask(1).id];
    const count = { figure: 2, shown: 2, paid: 2 };
    expect(await told("calibrated")).toEqual({ page: both, pool: both, exported: both, ...count });
  });
});
