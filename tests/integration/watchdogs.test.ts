/** What holds an experiment without being asked: each watchdog on a real record, the disk, and a real update that is not finite. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGpuActivities } from "../../activities/index.ts";
import { watch } from "../../activities/watch.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { Hold } from "../../core/steering.ts";
import { encodeCheckpoint, freshCheckpoint, openConversation } from "../../services/policy/index.ts";
import {
  type ArtifactStore,
  createExperiment,
  createLocalArtifacts,
  type Db,
  failAttempt,
  openAttempt,
  openDatabase,
  readHold,
  recordBatch,
  releaseExperiment,
} from "../../services/store/index.ts";
import { createNanoTrainer, encodeBatch } from "../../services/trainers/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { rolloutBatch, someWeights } from "../unit/trainer-rollouts.ts";
import { smallest } from "./workflows-recorder.ts";

let server: TestPostgres;
let db: Db;
let folder: string;
let artifacts: ArtifactStore;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url);
  folder = await mkdtemp(join(tmpdir(), "tadpole-watchdogs-"));
  artifacts = await createLocalArtifacts(join(folder, "artifacts"));
}, 60_000);
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

type Watchdog = ExperimentSettings["watchdog"];
const NONE: Watchdog = { infrastructureFailures: null, collapsedUpdates: null, stallMinutes: null };

async function failAttempts(experiment: string, count: number, kind: string): Promise<void> {
  const epoch = (await readHold(db, experiment))!.epoch;
  for (let slot = 0; slot < count; slot++) {
    const { fence } = await openAttempt(db, { rolloutKey: `${experiment}/${slot}`, experiment, epoch });
    await failAttempt(db, fence, { kind, error: `lost: sandbox ${slot}`, keepTurns: false });
  }
}

async function collapse(experiment: string, updates: readonly number[], trained = false): Promise<void> {
  const artifact = trained ? await artifacts.put(new Uint8Array(1), "batch") : null;
  for (const update of updates)
    await recordBatch(db, {
      ...{ experiment, iteration: 1, try: 1, update, groups: ["g"] },
      ...{ kept_groups: trained ? 1 : 0, dropped_groups: 1, artifact },
    });
}

interface Case {
  readonly name: string;
  readonly watchdog: Watchdog;
  /** Brings the record where the watchdog must bite; without `far` it must not yet. */
  readonly bring: (experiment: string, far: boolean) => Promise<void>;
  readonly hold: Hold;
  readonly minFreeMb?: number;
}

const cases: readonly Case[] = [
  {
    name: "infrastructure",
    watchdog: { ...NONE, infrastructureFailures: 3 },
    bring: (experiment, far) => failAttempts(experiment, far ? 3 : 2, "Infrastructure"),
    hold: {
      kind: "infrastructure",
      reason: "3 infrastructure failures in a row, the last: lost: sandbox 2",
    },
  },
  {
    name: "collapse",
    watchdog: { ...NONE, collapsedUpdates: 2 },
    bring: async (experiment, far) => {
      await collapse(experiment, [1], true);
      await collapse(experiment, far ? [2, 3] : [2]);
    },
    hold: {
      kind: "collapse",
      reason:
        "2 updates in a row had no group with both passes and failures: the policy has nothing to learn from",
    },
  },
];

/** Looks on until it holds; null = it has looked and found nothing to hold. */
async function look(experiment: string, watchdog: Watchdog, minFreeMb = 0): Promise<Hold | null> {
  const environment = new MockActivityEnvironment();
  // The first look has been taken by the time of the first heartbeat, two seconds later.
  environment.on("heartbeat", () => environment.cancel());
  const services = { db, disk: { folder, minFreeMb } };
  const looking = environment.run(() => watch(services, { experiment, watchdog }));
  return (looking as Promise<Hold>).catch((error: Error) => {
    if (environment.context.cancellationSignal.aborted) return null;
    throw error;
  });
}

const running = (name: string) => createExperiment(db, { name, settings: smallest, codeVersion: "test" });
const release = (experiment: string) => releaseExperiment(db, { experiment, request: "r1" });

describe.concurrent("a watchdog", () => {
  it.each(cases)(
    "$name: holds with its reason, not before, not when it is off, and not again after a resume",
    async ({ name, watchdog, bring, hold }) => {
      await running(name);
      await bring(name, false);
      expect(await look(name, watchdog)).toBeNull();
      await bring(name, true);
      expect(await look(name, NONE)).toBeNull();
      expect(await look(name, watchdog)).toEqual(hold);
      expect((await readHold(db, name))?.hold).toEqual(hold);
      expect(await release(name)).toEqual(hold);
      expect(await look(name, watchdog)).toBeNull();
      expect((await readHold(db, name))?.hold).toBeNull();
    },
  );

  it("infrastructure: the death of a worker and bad input are none of its affairs", async () => {
    await running("others");
    await failAttempts("others", 3, "BadInput");
    expect(await look("others", { ...NONE, infrastructureFailures: 3 })).toBeNull();
    await running("deaths");
    // Superseded attempts: what a killed worker leaves behind.
    for (let attempt = 0; attempt < 4; attempt++)
      await openAttempt(db, { rolloutKey: "deaths/0", experiment: "deaths", epoch: 0 });
    expect(await look("deaths", { ...NONE, infrastructureFailures: 3 })).toBeNull();
  });

  it("disk: holds every experiment whose work would be written there, until there is room", async () => {
    await running("disk");
    const hold = await look("disk", NONE, 2 ** 40);
    expect(hold).toMatchObject({ kind: "DiskLow", reason: expect.stringContaining(`${folder} has `) });
    expect((await readHold(db, "disk"))?.hold).toEqual(hold);
    await release("disk");
    expect(await look("disk", NONE, 1)).toBeNull();
  });

  it("stall: holds when nothing is recorded while it looks on, and not for what was recorded by others", async () => {
    await running("stalled");
    await running("others-work");
    const watchdog = { ...NONE, stallMinutes: 1 / 60 };
    const environment = new MockActivityEnvironment();
    const services = { db, disk: null };
    let slot = 0;
    const work = setInterval(
      () =>
        void openAttempt(db, { rolloutKey: `others-work/${slot++}`, experiment: "others-work", epoch: 0 }),
      500,
    );
    try {
      const hold = await environment.run(() => watch(services, { experiment: "stalled", watchdog }));
      expect(hold).toEqual({
        kind: "stall",
        reason: "nothing was recorded for 0.016666666666666666 minutes",
      });
    } finally {
      clearInterval(work);
    }
    await release("stalled");
    // A watcher that begins has seen no time pass.
    expect(await look("stalled", watchdog)).toBeNull();
  });

  it("an update that is not finite: holds, makes no policy, and is made after a resume with the cause gone", async () => {
    await running("diverging");
    const weights = someWeights(1);
    const checkpoint = await artifacts.put(encodeCheckpoint(freshCheckpoint(weights)), "policy");
    const batch = await artifacts.put(encodeBatch(rolloutBatch(weights, 1, 3, 8)), "batch");
    const parent = { id: `nano-${checkpoint.sha256.slice(0, 16)}`, checkpoint, parent: null, step: 0 };
    const { update } = createGpuActivities({
      db,
      artifacts,
      disk: { folder, minFreeMb: 0 },
      trainer: createNanoTrainer({ artifacts, openConversation }),
      // An update asks neither.
      ...({} as { policy: never; startCheckpoint: never }),
    });
    const updated = (change: Partial<ExperimentSettings["optimizer"]>): Promise<PolicyRef> =>
      new MockActivityEnvironment({
        workflowExecution: { workflowId: "exp/diverging/it/1/try/1/climb", runId: "run" },
      }).run(update, {
        scope: { experiment: "diverging", iteration: 1, try: 1 },
        ...{ update: 1, batch, kept: 3, dropped: 0, parent, freshOptimizer: true },
        loss: smallest.loss,
        optimizer: { ...smallest.optimizer, ...change },
      }) as Promise<PolicyRef>;
    const policies = () => db.selectFrom("policies").select("id").execute();
    await expect(updated({ learningRate: 1e300, weightDecay: 1e10 })).rejects.toMatchObject({ type: "Held" });
    const hold = (await readHold(db, "diverging"))?.hold;
    expect(hold).toMatchObject({ kind: "Diverged", reason: expect.stringMatching(/is (NaN|-?Infinity)$/) });
    expect(await policies()).toEqual([]);
    await expect(updated({ learningRate: 0.1 })).rejects.toMatchObject({ type: "Held" });
    await release("diverging");
    const policy = await updated({ learningRate: 0.1 });
    expect(policy).toMatchObject({ parent: parent.id, step: 1 });
    expect(await policies()).toEqual([{ id: policy.id }]);
  });
});
