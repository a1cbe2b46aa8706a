/** Tries on a real Postgres: further ones from the same input, and what they take over from earlier ones. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { planReplay } from "../../apps/control/index.ts";
import {
  type ArtifactStore,
  addTry,
  countPieces,
  createExperiment,
  createLocalArtifacts,
  type Db,
  findPiece,
  findReplay,
  findRollout,
  findVerdict,
  type IterationRow,
  listPieces,
  listTries,
  openAttempt,
  openDatabase,
  recordIteration,
  recordPiece,
  replayingAlone,
  sealRollout,
  setVerdict,
  steeringOnRecord,
  takeOverRollout,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { rolloutRow, testSettings } from "../support/record.ts";

let server: TestPostgres;
let db: Db;
let folder: string;
let artifacts: ArtifactStore;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url, { poolSize: 8 });
  folder = await mkdtemp(join(tmpdir(), "tries-"));
  artifacts = await createLocalArtifacts(folder);
});
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const settings = testSettings({ iterations: 2 });

async function begin(experiment: string, iteration: number, status = "climb"): Promise<IterationRow> {
  await createExperiment(db, { name: experiment, settings, codeVersion: "1" });
  await recordIteration(db, {
    experiment,
    iteration,
    try: 1,
    status,
    start_policy: "start",
    end_policy: null,
    pool: null,
    pinned: { settings },
  });
  return (await listTries(db, experiment, iteration))[0]!;
}

const replayOf = (base: IterationRow, request: string, overrides: Record<string, unknown> = {}) =>
  addTry(db, {
    base,
    replay: { request, options: { from: null }, plan: { request } },
    from: "update",
    overrides,
    codeVersion: "2",
    pinned: (attempt) => ({ attempt }),
  });

describe("addTry", () => {
  it("numbers tries, records what is theirs, and marks later iterations as stale", async () => {
    const base = await begin("numbered", 1);
    await begin("numbered", 2);
    expect((await steeringOnRecord(db, "numbered")).pinned).toBe(2);
    expect(await replayOf(base, "r1", { "optimizer.learningRate": 0.5 })).toEqual({
      experiment: "numbered",
      iteration: 1,
      try: 2,
    });
    const [, second, later] = await listTries(db, "numbered");
    expect(second).toMatchObject({
      try: 2,
      status: "pending",
      pinned: { attempt: 2 },
      from_phase: "update",
      overrides: { "optimizer.learningRate": 0.5 },
      base_try: 1,
      code_version: "2",
      stale: false,
    });
    expect(later).toMatchObject({ iteration: 2, try: 1, stale: true });
    // It will be pinned anew, with whatever is amended until then.
    expect((await steeringOnRecord(db, "numbered")).pinned).toBe(1);
    expect(await findReplay(db, "numbered", "r1")).toMatchObject({
      iteration: 1,
      try: 2,
      plan: { request: "r1" },
    });
    expect(await findReplay(db, "numbered", "r2")).toBeUndefined();
  });

  it("replaces a try that nobody has begun, and follows one that was", async () => {
    const base = await begin("pending", 1);
    await replayOf(base, "r1");
    expect((await replayOf(base, "r2")).try).toBe(2);
    await db.updateTable("iterations").set({ status: "pool" }).where("experiment", "=", "pending").execute();
    expect((await replayOf(base, "r3")).try).toBe(3);
    expect((await listTries(db, "pending")).map((row) => row.try)).toEqual([1, 2, 3]);
  });

  it("lets one at a time start a replay of an experiment", async () => {
    const inside = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const first = replayingAlone(db, "alone", async () => {
      inside.resolve();
      await gate.promise;
      return "first";
    });
    await inside.promise;
    expect(await replayingAlone(db, "alone", async () => "second")).toBeUndefined();
    expect(await replayingAlone(db, "another", async () => "other")).toBe("other");
    gate.resolve();
    expect(await first).toBe("first");
    expect(await replayingAlone(db, "alone", async () => "third")).toBe("third");
  });
});

async function rollout(key: string, contentKey: string, graded: "verdict-a" | null = null): Promise<void> {
  const { fence } = await openAttempt(db, { rolloutKey: key, experiment: "", epoch: 0 });
  await sealRollout(db, fence, rolloutRow(key, { trajectory: { uri: key }, content_key: contentKey }));
  if (graded !== null)
    await setVerdict(db, key, {
      outcome: "passed",
      rule: "all-passed",
      rawReward: 1,
      reward: 1,
      verdictKey: graded,
    });
}

describe("takeOverRollout", () => {
  const slot = (attempt: number, experiment = "over") => ({
    key: `${experiment}/it/1/try/${attempt}/climb/1/0/0`,
    groupKey: `${experiment}/it/1/try/${attempt}/climb/1/0`,
    member: 0,
    experiment,
    contentKey: "content",
  });

  it("gives a slot the rollout of the same content, without its verdict, and names who made it", async () => {
    await rollout(slot(1).key, "content", "verdict-a");
    expect(await takeOverRollout(db, slot(2))).toMatchObject({
      key: slot(2).key,
      group_key: slot(2).groupKey,
      content_key: "content",
      trajectory: { uri: slot(1).key },
      reused_from: slot(1).key,
      outcome: null,
      raw_reward: null,
      verdict_key: null,
    });
    // A replay of the replay, and once more: always from the one that was made.
    expect((await takeOverRollout(db, slot(3)))?.reused_from).toBe(slot(1).key);
    expect((await takeOverRollout(db, slot(3)))?.key).toBe(slot(3).key);
  });

  it("takes nothing of other content, nor of another experiment whose name begins alike", async () => {
    expect(await takeOverRollout(db, { ...slot(4), contentKey: "other" })).toBeUndefined();
    expect(await takeOverRollout(db, slot(1, "ov"))).toBeUndefined();
    expect(await takeOverRollout(db, slot(1, "over2"))).toBeUndefined();
  });

  it("leaves an accepted rollout of other content as it is", async () => {
    await rollout(slot(5).key, "mine");
    expect(await takeOverRollout(db, slot(5))).toBeUndefined();
    expect((await findRollout(db, slot(5).key))?.content_key).toBe("mine");
  });
});

describe("findVerdict", () => {
  it("finds what grading found for the same rollout under the same key, and who was graded", async () => {
    const key = (attempt: number) => `graded/it/1/try/${attempt}/climb/1/0/0`;
    await rollout(key(1), "content", "verdict-a");
    await rollout(key(2), "content");
    const of = { key: key(2), experiment: "graded", contentKey: "content", verdictKey: "verdict-a" };
    expect(await findVerdict(db, of)).toEqual({
      key: key(1),
      outcome: "passed",
      rule: "all-passed",
      rawReward: 1,
      evidence: null,
      log: null,
    });
    expect(await findVerdict(db, { ...of, verdictKey: "verdict-b" })).toBeUndefined();
    expect(await findVerdict(db, { ...of, contentKey: "other" })).toBeUndefined();
    expect(await findVerdict(db, { ...of, experiment: "grad" })).toBeUndefined();
    expect(await findVerdict(db, { ...of, key: key(1) })).toBeUndefined();
  });
});

describe("pieces", () => {
  const candidate = async (index: number, text: string) => ({
    index,
    candidate: { key: text, artifact: await artifacts.put(Buffer.from(text), "task") },
  });

  it("are found by content in the latest earlier try of the same iteration", async () => {
    await begin("found", 1);
    const of = (attempt: number, iteration = 1) => ({ experiment: "found", iteration, try: attempt });
    const key = { kind: "candidate", contentKey: "c" } as const;
    await recordPiece(db, of(1), key, { index: 0 });
    expect(await findPiece(db, of(1), key)).toBeUndefined();
    expect(await findPiece(db, of(1, 2), key)).toBeUndefined();
    expect(await findPiece(db, of(3), { ...key, contentKey: "d" })).toBeUndefined();
    expect(await findPiece(db, of(2), key)).toEqual({ result: { index: 0 }, made: 1 });
    await recordPiece(db, of(2), key, { index: 0 }, 1);
    expect(await findPiece(db, of(3), key)).toEqual({ result: { index: 0 }, made: 1 });
  });

  it("are planned for by what is finished, what was read, and what is still whole", async () => {
    await begin("planned", 1);
    const scope = { experiment: "planned", iteration: 1, try: 1 };
    for (const [index, text] of ["a", "b", "c"].entries())
      await recordPiece(db, scope, { kind: "candidate", contentKey: text }, await candidate(index, text));
    await rollout("planned/it/1/try/1/climb/1/0/0", "first", "verdict-a");
    await rollout("planned/it/1/try/1/climb/1/0/1", "second");
    const client = {
      workflow: { getHandle: () => ({ describe: async () => ({ status: { name: "FAILED" } }) }) },
    };
    const context = { db, artifacts, client: client as never };
    const plan = async (from: "verify" | null = null) => {
      const { pieces } = await planReplay(context, "planned", 1, { from, with: [] });
      return Object.fromEntries(pieces.map(({ piece, reused, redone }) => [piece, [reused, redone]]));
    };
    expect(await plan()).toMatchObject({
      candidates: [3, 0],
      "climb rollouts": [2, 0],
      "climb verdicts": [1, 0],
      updates: [0, 0],
    });
    expect(await plan("verify")).toMatchObject({ "climb rollouts": [2, 0], "climb verdicts": [0, 1] });
    // A pool that was filled says which candidates were read; a damaged file is made anew.
    await db
      .updateTable("iterations")
      .set({ last_candidate: 1 })
      .where("experiment", "=", "planned")
      .execute();
    const { candidate: first } = await candidate(0, "a");
    await writeFile(artifacts.path!(first.artifact), "damaged");
    expect((await plan()).candidates).toEqual([1, 1]);
    expect(await countPieces(db, scope)).toMatchObject({ candidates: { reused: 0, made: 2 } });
    expect(await listPieces(db, "planned", 2)).toEqual([]);
  });
});
