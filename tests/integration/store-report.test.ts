/** A report from a real record: which trajectories it shows, and that everything measured is in it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { renderReport } from "../../apps/report/index.ts";
import {
  type ArtifactStore,
  collectReport,
  createExperiment,
  createLocalArtifacts,
  type Db,
  findRollout,
  openDatabase,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { recordTestExperiment, recordTestGroup, testSettings, testTask } from "../support/record.ts";

let server: TestPostgres;
let db: Db;
let folder: string;
let artifacts: ArtifactStore;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url);
  folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
  artifacts = await createLocalArtifacts(folder);
  await recordTestExperiment(db, artifacts, "demo");
}, 60_000);
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
  if (folder) await rm(folder, { recursive: true });
});

const shown = async (name: string) =>
  (await collectReport(db, artifacts, name)).examples.map(({ caption, rollout }) => [
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
  const page = renderReport(await collectReport(db, artifacts, "demo"));
  expect(page).toContain("25.0 % → 50.0 %");
  expect(page).toContain("Fixed &lt;b&gt;add&lt;/b&gt;.");
  // Learning curve, one histogram, the task mix, four series of the climb, the time.
  expect(page.split("<svg ").length - 1).toBe(8);
});

it("leaves out an example whose artifact is gone", async () => {
  const before = await shown("demo");
  const row = await findRollout(db, before[0]![1]!);
  await artifacts.remove(row!.trajectory as never);
  const after = await shown("demo");
  expect(after.length).toBeLessThan(before.length);
  expect(after.map(([, key]) => key)).not.toContain(before[0]![1]);
});

it("is a page, too, for an experiment that has only a name", async () => {
  await createExperiment(db, { name: "new", settings: testSettings(), codeVersion: "0.1.0" });
  expect(renderReport(await collectReport(db, artifacts, "new"))).toContain("Nothing has been evaluated yet");
  await expect(collectReport(db, artifacts, "none")).rejects.toMatchObject({ kind: "missing" });
});
