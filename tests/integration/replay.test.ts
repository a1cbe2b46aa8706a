/**
 * Replays on a real Temporal server and a real Postgres: what is recorded, and the updates, are made by the real activities; the rest are
 * small plausible answers whose inputs show what a try was asked to make anew.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGpuActivities, createRecordActivities } from "../../activities/index.ts";
import {
  diffTries,
  outcome,
  planReplay,
  type ReplayOptions,
  replayCounts,
  startExperiment,
  startReplay,
} from "../../apps/control/index.ts";
import { REPLAY_PHASES } from "../../core/reuse.ts";
import {
  type ArtifactStore,
  createLocalArtifacts,
  type Db,
  getExperiment,
  listTries,
  openDatabase,
  recordPolicy,
  setStatus,
} from "../../services/store/index.ts";
import { TrainerError } from "../../services/trainers/errors.ts";
import type { Trainer } from "../../services/trainers/trainer.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  Recorder,
  start,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let bench: WorkflowBench;
let server: TestPostgres;
let db: Db;
let artifacts: ArtifactStore;
let folder: string;
beforeAll(async () => {
  [bench, server, folder] = await Promise.all([
    bundleWorkflows().then((bundle) => openWorkflowBench(bundle)),
    startTestPostgres(),
    mkdtemp(join(tmpdir(), "replay-")),
  ]);
  db = await openDatabase(server.url);
  artifacts = await createLocalArtifacts(folder);
});
afterAll(async () => {
  await bench?.close();
  await db?.destroy();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Equal inputs make equal policies. */
class CountingTrainer implements Trainer {
  readonly name = "nano";
  updates = 0;
  broken = false;

  async update(...[batch, parent, settings]: Parameters<Trainer["update"]>) {
    if (this.broken) throw new TrainerError("batch", "rows that this policy cannot have sampled");
    this.updates++;
    const made = { batch: batch.sha256, parent: parent.id, settings };
    const checkpoint = await artifacts.put(Buffer.from(JSON.stringify(made)), "policy");
    const id = `nano-${checkpoint.sha256.slice(0, 16)}`;
    return {
      policy: { id, checkpoint, parent: parent.id, step: parent.step + 1 },
      metrics: {
        loss: 0,
        gradientNorm: 1,
        trainableTokens: 1,
        droppedTokens: 0,
        effectiveSampleSize: 1,
        entropy: 1,
        meanRatio: 1,
      },
    };
  }

  async close(): Promise<void> {}
}

function experiment() {
  const trainer = new CountingTrainer();
  const policy = { client: unused, template: unused, publish: unused };
  const shared = { db, artifacts, policy, disk: null };
  const records = createRecordActivities(shared);
  const gpu = createGpuActivities({ ...shared, trainer, startCheckpoint: unused });
  const gate = { reached: Promise.withResolvers<void>(), opened: Promise.resolve() };
  const recorder = new Recorder({
    recordExperiment: records.recordExperiment,
    recordIteration: records.recordIteration,
    findIteration: records.findIteration,
    startPolicy: async () => {
      await recordPolicy(db, "nano", start);
      return start;
    },
    assemble: async ({ update, groups }) => ({
      batch: await artifacts.put(Buffer.from(`batch ${update}`), "batch"),
      kept: groups.length,
      dropped: 0,
    }),
    update: async (input) => {
      gate.reached.resolve();
      await gate.opened;
      return gpu.update(input);
    },
  });
  bench.use(recorder);
  return { trainer, recorder, gate, context: { db, artifacts, client: bench.client, codeVersion: "1" } };
}

function unused(): never {
  throw new Error("not asked for in these tests");
}

const settings = changed("climb.updates=2", "selection.everyUpdates=2");
const ended = (name: string) => bench.client.workflow.getHandle(`exp/${name}`).result();
const anew: ReplayOptions = { from: null, with: [] };
let requests = 0;
const request = (options: Partial<ReplayOptions> = {}) => ({
  ...anew,
  ...options,
  request: `request-${++requests}`,
});
const updatesOf = async (name: string, attempt: number) =>
  (await replayCounts({ db }, { experiment: name, iteration: 1, try: attempt })).find(
    ({ piece }) => piece === "updates",
  );

describe("a replay", () => {
  it("of a failed iteration goes on once the cause is gone, and takes over what was finished", async () => {
    const { trainer, context } = experiment();
    const first = trainer.update.bind(trainer);
    trainer.update = async (...input) => {
      trainer.broken = trainer.updates === 1;
      return first(...input);
    };
    await startExperiment(context, "failed", settings);
    const failure = ended("failed");
    await expect(failure).rejects.toMatchObject({
      cause: { message: /^rows that this policy/, type: "BadInput" },
    });
    expect((await getExperiment(db, "failed")).result).toEqual({
      error: "rows that this policy cannot have sampled",
    });
    trainer.update = first;
    trainer.broken = false;
    const { scope, plan } = await startReplay(context, "failed", 1, request());
    expect(scope.try).toBe(2);
    expect(plan.pieces.find(({ piece }) => piece === "updates")).toMatchObject({ reused: 1, redone: 0 });
    await ended("failed");
    expect(trainer.updates).toBe(2);
    expect(await updatesOf("failed", 2)).toMatchObject({ reused: 1, redone: 1 });
    expect(await getExperiment(db, "failed")).toMatchObject({ status: "done" });
    const diff = await diffTries(context, scope, { ...scope, try: 1 });
    expect(diff.parts.find(({ same, parts }) => parts && !same)?.part).toBe("updates");
    expect(diff.parts.find(({ part }) => part === "batches")?.same).toBe(true);
  });

  it("of a finished one comes to the same, by each phase; what it makes anew is as foretold", async () => {
    const { trainer, recorder, context } = experiment();
    await startExperiment(context, "finished", settings);
    await ended("finished");
    for (const [index, from] of [null, ...REPLAY_PHASES].entries()) {
      const before = trainer.updates;
      recorder.calls.length = 0;
      const wanted = request({ from });
      const foretold = await planReplay(context, "finished", 1, wanted);
      const { scope, plan } = await startReplay(context, "finished", 1, wanted);
      expect(plan).toEqual(foretold);
      await ended("finished");
      const made = await updatesOf("finished", scope.try);
      expect(made).toEqual(plan.pieces.find(({ piece }) => piece === "updates"));
      expect(trainer.updates - before, String(from)).toBe(from === null ? 0 : 2);
      expect(scope.try).toBe(2 + index);
      const asked = [
        ...recorder.inputs("verify").filter(({ phase }) => phase !== "evaluate"),
        ...recorder.inputs("update"),
        ...recorder.inputs("synthesise"),
      ];
      const own = asked.filter((input) => input.scope?.try === scope.try);
      expect(new Set(own.map(({ reuse }) => JSON.stringify(reuse)))).toEqual(
        new Set([JSON.stringify({ from })]),
      );
      const diff = await diffTries(context, { ...scope, try: 1 }, scope);
      expect(diff).toMatchObject({ same: true });
    }
  }, 240_000);

  it("of a terminated one begins where it was, and is refused while it runs", async () => {
    const { gate, context } = experiment();
    const opened = Promise.withResolvers<void>();
    gate.opened = opened.promise;
    await startExperiment(context, "terminated", settings);
    await gate.reached.promise;
    const refused = { kind: "running", message: /^experiment "terminated" is running: stop it first/ };
    await expect(planReplay(context, "terminated", 1, anew)).rejects.toMatchObject(refused);
    await expect(startReplay(context, "terminated", 1, request())).rejects.toMatchObject(refused);
    expect(await listTries(db, "terminated")).toHaveLength(1);
    await bench.client.workflow.getHandle("exp/terminated").terminate("by hand");
    opened.resolve();
    const { scope } = await startReplay(context, "terminated", 1, request());
    expect(scope.try).toBe(2);
    await ended("terminated");
    expect((await listTries(db, "terminated")).map(({ status }) => status)).toEqual(["climb", "finished"]);
  });

  it("records its overrides, and makes what depends on them anew", async () => {
    const { trainer, recorder, context } = experiment();
    await startExperiment(context, "overridden", settings);
    await ended("overridden");
    await startReplay(context, "overridden", 1, request({ with: ["optimizer.learningRate=0.125"] }));
    await ended("overridden");
    expect(trainer.updates).toBe(4);
    expect((await listTries(db, "overridden")).at(-1)).toMatchObject({
      overrides: { "optimizer.learningRate": 0.125 },
      base_try: 1,
    });
    expect(recorder.inputs("update").at(-1)?.optimizer.learningRate).toBe(0.125);
    const scope = { experiment: "overridden", iteration: 1, try: 1 };
    const { parts } = await diffTries(context, scope, { ...scope, try: 2 });
    expect(parts.filter(({ same, parts }) => parts && !same).map(({ part }) => part)).toEqual([
      "settings",
      "updates",
      "end policy",
    ]);
    // A replay of the replay keeps its overrides.
    await startReplay(context, "overridden", 1, request());
    await ended("overridden");
    expect(trainer.updates).toBe(4);
    expect(await diffTries(context, { ...scope, try: 2 }, { ...scope, try: 3 })).toMatchObject({
      same: true,
    });
    await expect(
      planReplay(context, "overridden", 1, { from: null, with: ["iterations=2"] }),
    ).rejects.toMatchObject({
      field: "iterations",
      message: /^--with iterations=2: iterations: expected one of seed/,
    });
    await expect(planReplay(context, "overridden", 2, anew)).rejects.toMatchObject({ kind: "missing" });
  });

  it("is asked for once by a request, whatever died in between", async () => {
    const { context } = experiment();
    await startExperiment(context, "once", settings);
    await ended("once");
    const asked = request();
    const first = await startReplay(context, "once", 1, asked);
    expect(await startReplay(context, "once", 1, asked)).toEqual(first);
    await ended("once");
    expect(await startReplay(context, "once", 1, asked)).toEqual(first);
    expect(await listTries(db, "once")).toHaveLength(2);
    await expect(startReplay(context, "once", 1, { ...asked, from: "filter" })).rejects.toMatchObject({
      kind: "request",
    });
    // Recorded by a process that died before it could start the workflow.
    const lost = request();
    const unreachable = new Error("no server");
    const dying = {
      ...context,
      client: {
        workflow: {
          getHandle: (id: string) => bench.client.workflow.getHandle(id),
          start: () => Promise.reject(unreachable),
        },
      } as never,
    };
    await expect(startReplay(dying, "once", 1, lost)).rejects.toBe(unreachable);
    expect((await getExperiment(db, "once")).status).toBe("done");
    expect((await listTries(db, "once")).at(-1)).toMatchObject({ try: 3, status: "pending" });
    expect((await startReplay(context, "once", 1, lost)).scope.try).toBe(3);
    await ended("once");
    expect((await listTries(db, "once")).at(-1)).toMatchObject({ try: 3, status: "finished" });
    // As it is where the process died between the status and the workflow: the end of the run before is not the end of this one.
    expect(await outcome(context, "once")).toBeNull();
    await setStatus(db, "once", "running");
    expect(await outcome(context, "once")).toMatchObject({ reason: expect.stringContaining("cut short") });
  });
});
