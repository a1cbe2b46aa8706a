/** The live ledger on a real Postgres: fences, acceptance once, and no row of a lost attempt left. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  appendTurn,
  completeTurn,
  countFailures,
  type Db,
  dropTurns,
  failAttempt,
  findRollout,
  type LedgerRow,
  openAttempt,
  openDatabase,
  readLedger,
  sealRollout,
  setVerdict,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { rolloutRow } from "../support/record.ts";

let server: TestPostgres;
let db: Db;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url, { poolSize: 8 });
}, 60_000);
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
});

function turn(number: number, change: Partial<LedgerRow> = {}): LedgerRow {
  return {
    record: {
      turn: number,
      promptTokens: 2,
      completionTokens: 1,
      toolCalls: [],
      results: [],
      treeHash: null,
    },
    promptTokens: [1, 2],
    sampledTokens: [300],
    logProbs: [-0.5],
    weightVersion: "nano-0",
    newSegment: number === 0,
    reply: { text: "", finish: "stop", treeBefore: "", namesBefore: "", modelSeconds: 0, toolSeconds: 0 },
    answered: true,
    ...change,
  };
}

const trajectory = { uri: "artifact:x" };
const ledgerRows = (key: string) =>
  db.selectFrom("ledger").select(["fence", "turn"]).where("rollout_key", "=", key).execute();
const statuses = async (key: string) =>
  (
    await db
      .selectFrom("attempts")
      .select("status")
      .where("rollout_key", "=", key)
      .orderBy("attempt")
      .execute()
  ).map((row) => row.status);

describe("the ledger", () => {
  it("gives back every turn exactly, whatever the tokens, log-probabilities and results are", async () => {
    const entry = fc.record({ id: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), logProb: fc.double() });
    const { fence } = await openAttempt(db, { rolloutKey: "exact/0", experiment: "", epoch: 0 });
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry),
        fc.array(fc.integer()),
        fc.string({ unit: "binary" }),
        async (sampled, promptTokens, text) => {
          const written = turn(number++, {
            promptTokens,
            sampledTokens: sampled.map(({ id }) => id),
            logProbs: sampled.map(({ logProb }) => logProb),
          });
          const record = { ...written.record, results: [`${text}\0\ud800`] };
          await appendTurn(db, fence, { ...written, record });
          expect((await readLedger(db, fence)).at(-1)).toEqual({ ...written, record });
        },
      ),
      { numRuns: 30, seed: 30 },
    );
    expect((await readLedger(db, fence)).map((row) => row.record.turn)).toEqual([...Array(number).keys()]);
  });

  it("refuses a turn twice, and log-probabilities that do not match the tokens", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "twice/0", experiment: "", epoch: 0 });
    await appendTurn(db, fence, turn(0));
    await expect(appendTurn(db, fence, turn(0))).rejects.toMatchObject({ kind: "conflict" });
    await expect(appendTurn(db, fence, turn(1, { logProbs: [] }))).rejects.toMatchObject({ kind: "invalid" });
  });

  it("takes nothing more from an attempt once a newer one is open", async () => {
    const older = await openAttempt(db, { rolloutKey: "slot/0", experiment: "", epoch: 0 });
    await appendTurn(db, older.fence, turn(0));
    const newer = await openAttempt(db, { rolloutKey: "slot/0", experiment: "", epoch: 0 });
    expect([older.attempt, newer.attempt]).toEqual([1, 2]);
    await expect(appendTurn(db, older.fence, turn(1))).rejects.toMatchObject({
      name: "StoreError",
      kind: "fenced",
    });
    await expect(sealRollout(db, older.fence, rolloutRow("slot/0", { trajectory }))).rejects.toMatchObject({
      kind: "fenced",
    });
    await failAttempt(db, older.fence, { kind: "Infrastructure", error: "too late", keepTurns: false });
    expect(newer).toMatchObject({ resumed: [turn(0)], previous: { attempt: 1, fence: older.fence } });
    expect(await readLedger(db, older.fence)).toEqual([]);
    expect(await readLedger(db, newer.fence)).toEqual([turn(0)]);
    expect(await findRollout(db, "slot/0")).toBeUndefined();
    expect(await statuses("slot/0")).toEqual(["superseded", "running"]);
    const late = await db
      .selectFrom("attempts")
      .select("late_result")
      .where("fence", "=", older.fence)
      .executeTakeFirst();
    expect(late?.late_result).toMatchObject({ exit: rolloutRow("slot/0", { trajectory }).exit });
    await appendTurn(db, newer.fence, turn(1));
  });

  it("completes a turn only while its fence is current, and drops turns with a note", async () => {
    const slot = { rolloutKey: "two/0", experiment: "e", epoch: 3 };
    const older = await openAttempt(db, slot);
    await appendTurn(db, older.fence, turn(0, { answered: false }));
    const newer = await openAttempt(db, slot);
    expect(newer.resumed).toEqual([turn(0, { answered: false })]);
    await expect(completeTurn(db, older.fence, turn(0))).rejects.toMatchObject({ kind: "fenced" });
    await completeTurn(db, newer.fence, turn(0));
    expect(await readLedger(db, newer.fence)).toEqual([turn(0)]);
    await expect(dropTurns(db, older.fence, "late")).rejects.toMatchObject({ kind: "fenced" });
    await dropTurns(db, newer.fence, "why");
    expect(await readLedger(db, newer.fence)).toEqual([]);
    await failAttempt(db, newer.fence, { kind: "Infrastructure", error: "x", keepTurns: true });
    expect(await countFailures(db, slot, ["Infrastructure"])).toBe(1);
    expect(await countFailures(db, slot, ["Internal"])).toBe(0);
    expect(await countFailures(db, { ...slot, epoch: 4 }, ["Infrastructure"])).toBe(0);
  });

  it("keeps one current attempt and no row of any other while attempts and turns race", async () => {
    const opened = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const attempt = await openAttempt(db, { rolloutKey: "race/0", experiment: "", epoch: 0 });
        // Some append at once, others after newer attempts have come.
        for (let number = attempt.resumed.length; number < 4; number++)
          await appendTurn(db, attempt.fence, turn(number)).catch((error) => {
            expect(error).toMatchObject({ kind: "fenced" });
          });
        return { ...attempt, i };
      }),
    );
    expect(opened.map(({ attempt }) => attempt).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, i) => i + 1),
    );
    const current = opened.find(({ attempt }) => attempt === 12)!;
    expect((await statuses("race/0")).filter((status) => status === "running")).toHaveLength(1);
    expect(new Set((await ledgerRows("race/0")).map((row) => row.fence))).toEqual(new Set([current.fence]));
    expect(await readLedger(db, current.fence)).toHaveLength(4);
  });

  it("ends a failed attempt without rows, and keeps its error", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "failed/0", experiment: "", epoch: 0 });
    await appendTurn(db, fence, turn(0));
    await failAttempt(db, fence, { kind: "Infrastructure", error: "the sandbox\0died", keepTurns: false });
    expect(await ledgerRows("failed/0")).toEqual([]);
    const row = await db
      .selectFrom("attempts")
      .select(["status", "error"])
      .where("fence", "=", fence)
      .executeTakeFirst();
    expect(row).toEqual({ status: "failed", error: "the sandbox␀died" });
    await expect(appendTurn(db, fence, turn(1))).rejects.toMatchObject({ kind: "fenced" });
  });
});

describe("accepting a rollout", () => {
  it("writes the row and deletes its ledger together", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "sealed/0", experiment: "", epoch: 0 });
    await appendTurn(db, fence, turn(0));
    const row = rolloutRow("sealed/0", { trajectory });
    await sealRollout(db, fence, row);
    expect(await findRollout(db, "sealed/0")).toMatchObject({ ...row, created_at: expect.any(Date) });
    expect(await ledgerRows("sealed/0")).toEqual([]);
    expect(await statuses("sealed/0")).toEqual(["accepted"]);
  });

  it("does nothing at all when the row cannot be written", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "broken/0", experiment: "", epoch: 0 });
    await appendTurn(db, fence, turn(0));
    const broken = rolloutRow("broken/0", { trajectory, exit: null as never });
    await expect(sealRollout(db, fence, broken)).rejects.toMatchObject({ kind: "invalid" });
    expect(await ledgerRows("broken/0")).toHaveLength(1);
    expect(await statuses("broken/0")).toEqual(["running"]);
    await sealRollout(db, fence, rolloutRow("broken/0", { trajectory }));
  });

  it("gives the accepted row back when the same content comes again, by any attempt", async () => {
    const row = rolloutRow("again/0", { trajectory });
    const first = await openAttempt(db, { rolloutKey: "again/0", experiment: "", epoch: 0 });
    const accepted = await sealRollout(db, first.fence, row);
    await setVerdict(db, "again/0", { outcome: "passed", rule: "all-passed", rawReward: 1, reward: 0.5 });
    expect(await sealRollout(db, first.fence, row)).toMatchObject({
      created_at: accepted.created_at,
      reward: 0.5,
    });
    const second = await openAttempt(db, { rolloutKey: "again/0", experiment: "", epoch: 0 });
    await appendTurn(db, second.fence, turn(0));
    expect((await sealRollout(db, second.fence, { ...row, turns: 99 })).turns).toBe(row.turns);
    expect(await ledgerRows("again/0")).toEqual([]);
    expect(await statuses("again/0")).toEqual(["accepted", "superseded"]);
  });

  it("is a conflict with other content", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "other/0", experiment: "", epoch: 0 });
    await sealRollout(db, fence, rolloutRow("other/0", { trajectory }));
    const other = rolloutRow("other/0", { trajectory, content_key: "other" });
    await expect(sealRollout(db, fence, other)).rejects.toMatchObject({ kind: "conflict" });
  });

  it("happens once when two holders of the current fence race", async () => {
    const { fence } = await openAttempt(db, { rolloutKey: "both/0", experiment: "", epoch: 0 });
    const row = rolloutRow("both/0", { trajectory });
    const [one, two] = await Promise.all([sealRollout(db, fence, row), sealRollout(db, fence, row)]);
    expect(one).toEqual(two);
  });

  it("comes before its verdict", async () => {
    const verdict = { outcome: "failed", rule: "timeout", rawReward: 0, reward: 0 } as const;
    await expect(setVerdict(db, "none/0", verdict)).rejects.toMatchObject({ kind: "missing" });
  });
});
