/** A report from a real record: which trajectories it shows, and that everything measured is in it. */
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readReport } from "../../apps/control/index.ts";
import { renderReport } from "../../apps/report/index.ts";
import {
  type ArtifactStore,
  createExperiment,
  type Db,
  evaluationOf,
  findRollout,
  recordAmendments,
  recordEvaluation,
  recordIteration,
  recordPolicy,
  recordProbe,
} from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import {
  policyRef,
  recordTestExperiment,
  recordTestGroup,
  testSettings,
  testTask,
} from "../support/record.ts";

let record: TestRecord;
let db: Db;
let artifacts: ArtifactStore;
beforeAll(async () => {
  record = await openTestRecord();
  ({ db, artifacts } = record);
  await recordTestExperiment(db, artifacts, "demo");
}, 60_000);
afterAll(() => record?.close());

const shown = async (name: string) =>
  (await readReport({ db, artifacts }, name)).examples.map(({ caption, rollout }) => [
    caption,
    rollout.row.key,
  ]);

it("shows rollouts of training before anything was evaluated", async () => {
  const scope = "demo/it/1/try/1";
  expect(await shown("demo")).toEqual([
    ["A rollout of training", `${scope}/climb/2/0/0`],
    ["A rollout of training", `${scope}/climb/2/0/1`],
    ["A rollout of training", `${scope}/climb/2/0/2`],
  ]);
});

it("shows a held-out task before and after training, and one that stayed unsolved", async () => {
  const evaluated: [iteration: number, task: number, passes: number][] = [
    [0, 0, 1],
    [0, 1, 0],
    [0, 2, 0],
    [1, 0, 1],
    [1, 1, 1],
    [1, 2, 0],
  ];
  for (const [iteration, index, passes] of evaluated)
    await recordTestGroup(db, artifacts, {
      key: `demo/eval/unseen/sampled/p${iteration}/${testTask(index).id}`,
      experiment: "demo",
      iteration,
      policy: policyRef(iteration === 0 ? "start" : "end").id,
      phase: "evaluate",
      task: testTask(index),
      passes,
      size: 1,
    });
  const key = (iteration: number, task: number) =>
    `demo/eval/unseen/sampled/p${iteration}/${testTask(task).id}/0`;
  expect(await shown("demo")).toEqual([
    ["The untrained policy on a held-out task", key(0, 1)],
    ["The trained policy on the same task", key(1, 1)],
    ["A held-out task that was not solved", key(1, 2)],
  ]);
  const page = renderReport(await readReport({ db, artifacts }, "demo"));
  expect(page).toContain("25.0 % → 50.0 %");
  expect(page).toContain("Fixed &lt;b&gt;add&lt;/b&gt;.");
  // A page of each admitted task, none of those that were dropped; as it was admitted, how it came to that, and what training made of it.
  const pages = page.split('<details class="example" id="task-').slice(1);
  expect(pages.map((text) => text.slice(0, 17))).toEqual([testTask(0).id, testTask(1).id]);
  expect(pages[0]).toContain("first probe 2/4, last climbed at 4/4");
  // Once with the probes, once with the revisions.
  expect(pages[0]!.split("void: another statement, harness, limits or sampling")).toHaveLength(3);
  expect(pages[1]).toContain("first probe 0/4, admitted at 1/4 after 1 revision<");
  expect(pages[1]).toContain("Statement, level 2, as it was admitted");
  expect(pages[1]).toMatch(/<th scope="row">gold<\/th><td>passed<\/td>/);
  // Learning curve, one histogram, the task mix, four series of the climb, the time.
  expect(page.split("<svg ").length - 1).toBe(8);
});

it("shows the latest try of an iteration alone, and no checkpoint that was not chosen", async () => {
  const name = "replayed";
  await recordTestExperiment(db, artifacts, name);
  const [first, second] = [policyRef("end").id, policyRef("end of the second try", policyRef("start").id, 1)];
  const evaluate = (policy: string, mode: string, task: number, passes: number, iteration = 1, attempt = 1) =>
    recordTestGroup(db, artifacts, {
      key: `${name}/eval/unseen/${mode}/${policy}/${testTask(task).id}`,
      ...{
        experiment: name,
        iteration,
        try: attempt,
        policy,
        phase: "evaluate",
        task: testTask(task),
        passes,
        size: 1,
      },
    });
  const measure = async (policy: string, attempt: number, passAt1: number) => {
    for (const set of ["functions", "unseen"])
      await recordEvaluation(db, {
        ...{
          key: `${name}/it/1/try/${attempt}/${set}/sampled/${policy}`,
          experiment: name,
          iteration: 1,
          policy,
        },
        ...{
          set_name: set,
          set_hash: "hash",
          mode: "sampled",
          tasks: 1,
          samples: 1,
          pass_at_1: passAt1,
          low: 0,
          high: 1,
        },
        results: [{ taskId: testTask(0).id, passes: passAt1, runs: 1 }],
      });
  };
  const begin = (status: string, endPolicy: string | null) =>
    recordIteration(db, {
      ...{ experiment: name, iteration: 1, try: 2, status, start_policy: policyRef("start").id },
      ...{ end_policy: endPolicy, pool: null, pinned: { settings: testSettings() } },
    });
  await evaluate(policyRef("start").id, "sampled", 0, 0, 0);
  await evaluate(policyRef("start").id, "sampled", 1, 0, 0);
  // The first try solved the first task, the second one the second; a checkpoint on its way failed both.
  await evaluate(first, "sampled", 0, 1);
  await evaluate(first, "sampled", 1, 0);
  await measure(first, 1, 0);
  await evaluate("nano-on-its-way", "validation-1-2-1", 0, 0, 1, 2);

  await begin("climb", null);
  const open = (await readReport({ db, artifacts }, name)).summary.iterations[1]!;
  expect([open.try, open.policy, open.evaluation, evaluationOf(open, "unseen", "sampled")]).toEqual([
    2,
    null,
    null,
    undefined,
  ]);

  await recordPolicy(db, "nano", second);
  await begin("finished", second.id);
  await evaluate(second.id, "sampled", 0, 0, 1, 2);
  await evaluate(second.id, "sampled", 1, 1, 1, 2);
  await measure(second.id, 2, 1);
  const data = await readReport({ db, artifacts }, name);
  const iteration = data.summary.iterations[1]!;
  expect(iteration).toMatchObject({
    try: 2,
    policy: { id: second.id },
    evaluation: { policy: second.id, passAt1: 1, tasks: 2 },
  });
  expect(evaluationOf(iteration, "unseen", "sampled")).toMatchObject({ policy: second.id, passAt1: 1 });
  expect(await shown(name)).toEqual([
    [
      "The untrained policy on a held-out task",
      `${name}/eval/unseen/sampled/${policyRef("start").id}/${testTask(1).id}/0`,
    ],
    ["The trained policy on the same task", `${name}/eval/unseen/sampled/${second.id}/${testTask(1).id}/0`],
    ["A held-out task that was not solved", `${name}/eval/unseen/sampled/${second.id}/${testTask(0).id}/0`],
  ]);
  expect(renderReport(data)).toContain("25.0 % → 100.0 %");
});

it("shows what each iteration ran with: a band that was amended, a replay's override; stale iterations not at all", async () => {
  const name = "steered";
  await recordTestExperiment(db, artifacts, name);
  const settings = testSettings({ seed: 3, iterations: 1 });
  const [start, end] = [policyRef("start").id, policyRef("end").id];
  const amendment = (path: string, old: number, value: number, fromIteration: number) => ({
    ...{ request: path, path, old, value, fromIteration },
  });
  const amendments = [
    amendment("filter.band.high", settings.filter.band.high, 0.75, 2),
    amendment("iterations", 1, 4, 1),
    amendment("climb.updates", settings.climb.updates, 5, 3),
  ];
  for (const count of [1, 2, 3]) await recordAmendments(db, name, amendments.slice(0, count));
  const ran = { experiment: name, status: "finished", start_policy: start, end_policy: end, pool: null };
  // As the workflow pins them: with the amendments made until then, and a replay's override.
  const pinned = (amended: object) => ({ settings: { ...settings, ...amended } });
  const band = { filter: { ...settings.filter, band: { ...settings.filter.band, high: 0.75 } } };
  await recordIteration(db, {
    ...ran,
    iteration: 1,
    try: 2,
    pinned: pinned({ reward: { length: { fromIteration: 7 } } }),
  });
  await recordIteration(db, { ...ran, iteration: 2, try: 1, pinned: pinned(band) });
  for (const scope of [`${name}/it/1/try/2`, `${name}/it/2/try/1`])
    for (const candidate of [0, 1])
      await recordProbe(db, {
        ...{ scope, candidate, refinement: 0, task_id: testTask(candidate).id, level: 1, policy: start },
        ...{ passes: candidate, runs: 4, label_key: "label", decision: "admit", group_key: scope },
      });
  const before = await readReport({ db, artifacts }, name);
  expect(before.stale).toEqual([]);
  const page = renderReport(before);
  const row = (path: string) =>
    page
      .split(`<code>${path}</code>`)[1]
      ?.split("</tr>")[0]
      ?.replace(/<[^>]+>/g, "|");
  expect(row("filter.band.high")).toContain("0.75 from iteration 2 on");
  expect(row("iterations")).toContain("4 from iteration 1 on");
  expect(row("climb.updates")).toContain("5 from iteration 3 on");
  expect(row("reward.length.fromIteration")).toContain("7 from iteration 1 on");
  expect(row("seed")).not.toContain("from iteration");
  const regions = [...page.matchAll(/<rect class="region"[^>]*width="([\d.]+)"/g)].map((found) =>
    Number(found[1]),
  );
  expect(regions).toHaveLength(2);
  expect(regions[1]).toBeGreaterThan(regions[0]!);

  await db
    .updateTable("iterations")
    .set({ stale: true })
    .where("experiment", "=", name)
    .where("iteration", "=", 2)
    .execute();
  const after = await readReport({ db, artifacts }, name);
  expect(after.stale).toEqual([2]);
  expect([after.summary.iterations, after.pools, after.mix].map((all) => all.at(-1)?.iteration)).toEqual([
    1, 1, 1,
  ]);
  expect(renderReport(after)).toContain("Not shown: iteration 2,");
});

it("leaves out an example whose artifact is gone", async () => {
  const before = await shown("demo");
  const row = await findRollout(db, before[0]![1]!);
  await rm(artifacts.path!(row!.trajectory as never));
  const after = await shown("demo");
  expect(after.length).toBeLessThan(before.length);
  expect(after.map(([, key]) => key)).not.toContain(before[0]![1]);
});

it("is a page, too, for an experiment that has only a name", async () => {
  await createExperiment(db, { name: "new", settings: testSettings(), codeVersion: "0.1.0" });
  expect(renderReport(await readReport({ db, artifacts }, "new"))).toContain(
    "Nothing has been evaluated yet",
  );
  await expect(readReport({ db, artifacts }, "none")).rejects.toMatchObject({ kind: "missing" });
});

it("shows the tasks that were dropped where none was admitted", async () => {
  await recordTestExperiment(db, artifacts, "barren");
  await db
    .updateTable("probes")
    .set({ decision: "drop: too-hard-at-most-specific" })
    .where("scope", "=", "barren/it/1/try/1")
    .execute();
  const report = await readReport({ db, artifacts }, "barren");
  expect(report.tasks).toMatchObject({ admitted: false, total: 3 });
  const page = renderReport(report);
  expect(page).toContain("Tasks that were dropped");
  expect(page).toContain("drop: too-hard-at-most-specific");
  expect(page).toContain("as it was probed last");
  expect(page).not.toContain("<h2>Admitted tasks");
  expect((await readReport({ db, artifacts }, "demo")).tasks).toMatchObject({ admitted: true, total: 2 });
});
