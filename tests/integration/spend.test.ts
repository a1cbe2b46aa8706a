/** The books of what is paid for, on a real Postgres: budgets are never overdrawn, nothing is paid twice or forgotten. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BudgetSettings, NO_TOKENS, type SpendRequest, sumUsd } from "../../core/spend.ts";
import {
  createExperiment,
  type Db,
  openDatabase,
  recordAmendments,
  spendBooks,
} from "../../services/store/index.ts";
import { readSpendSettings, readUsage } from "../../services/store/usage.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { testSettings } from "../support/record.ts";

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

const MODEL = "writer";
let made = 0;

/** An experiment with a budget, on record; a token of either kind costs a dollar by a million. */
async function experiment(
  budget: Partial<BudgetSettings>,
  prices = { [MODEL]: { prompt: 1, cached: 0.1, generated: 1 } },
): Promise<string> {
  const name = `spend-${made++}`;
  const settings = testSettings();
  await createExperiment(db, {
    name,
    settings: { ...settings, budget: { ...settings.budget, ...budget }, prices },
    codeVersion: "test",
  });
  return name;
}

const booksOf = (name: string) =>
  spendBooks(db, { experiment: name, iteration: 1, try: 1, candidate: 3, generator: "llm" });

const request = (key: string, prompt = 1000, generated = 1000): SpendRequest => ({
  key,
  phase: "synthesise",
  model: MODEL,
  atMost: { prompt, generated },
});

const rows = (name: string) =>
  db.selectFrom("spend").selectAll().where("experiment", "=", name).orderBy("key").execute();

async function usage(name: string) {
  const settings = await readSpendSettings(db, name);
  return readUsage(db, name, settings!);
}

describe("a reservation", () => {
  it("is never granted beyond the budget, whatever is asked for at once and whoever asks", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 400_000 }), { minLength: 2, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 100 }), async (asked, cents) => {
        const name = await experiment({ usd: cents / 100 });
        const granted = await Promise.all(
          asked.map((size, i) =>
            booksOf(name)
              .reserve(request(`${name}/${i}`, size, 0))
              .then(() => size)
              .catch((error) => {
                expect(error).toMatchObject({ name: "SpendError", kind: "exhausted" });
                return 0;
              }),
          ),
        );
        const reserved = granted.reduce((sum, size) => sum + size, 0) / 1e6;
        expect(reserved).toBeLessThanOrEqual(cents / 100);
        // Whatever was refused did not fit beside what was granted.
        for (const [i, size] of asked.entries())
          if (granted[i] === 0) expect(sumUsd([reserved, size / 1e6])).toBeGreaterThan(cents / 100);
        expect((await usage(name)).usd).toBe(sumUsd(granted.map((size) => size / 1e6)));
      }),
      { numRuns: 10, endOnFailure: true },
    );
  });

  it("takes the last dollar to the bit, and says what was spent of what when there is none", async () => {
    const name = await experiment({ usd: 0.3 });
    for (const key of ["a", "b", "c"]) await booksOf(name).reserve(request(`${name}/${key}`, 100_000, 0));
    await expect(booksOf(name).reserve(request(`${name}/d`, 1, 0))).rejects.toThrow(
      "budget.usd: 0.30 of 0.30 spent (0.30 of it reserved for answers that are not known), and the next request may take 0.000001",
    );
  });

  it("counts the author's tokens against their own bound, priced or not", async () => {
    const name = await experiment({ authorTokens: 3000 }, {} as never);
    const books = booksOf(name);
    await books.reserve(request(`${name}/a`));
    await books.settle(`${name}/a`, { ...NO_TOKENS, prompt: 900, text: 100 });
    await books.reserve(request(`${name}/b`));
    await expect(books.reserve(request(`${name}/c`, 1, 0))).rejects.toThrow(
      "budget.authorTokens: 3000 of 3000 spent (2000 of it reserved",
    );
    expect(await rows(name)).toMatchObject([
      { usd: null, reserved_usd: null },
      { usd: null, reserved_usd: null },
    ]);
  });

  it("is the same one when it is asked for again, and its outcome is what it was said to be first", async () => {
    const name = await experiment({ usd: 0.002 });
    const books = booksOf(name);
    await books.reserve(request(`${name}/a`));
    await books.reserve(request(`${name}/a`));
    const used = { prompt: 100, cached: 800, reasoning: 30, text: 20, toolCalls: 10 };
    await books.settle(`${name}/a`, used);
    await books.settle(`${name}/a`, { ...used, text: 999 });
    await booksOf(name).settle(`${name}/a`, NO_TOKENS);
    // 160 tokens at 1 dollar by a million, 800 at a tenth of it.
    expect(await rows(name)).toMatchObject([{ key: `${name}/a`, used, usd: 0.00024 }]);
    await expect(books.settle(`${name}/b`, used)).rejects.toMatchObject({ kind: "missing" });
  });

  it("is another one where the request is sent again: it was refused, or its answer was none", async () => {
    const name = await experiment({ usd: 1 });
    const books = booksOf(name);
    for (const prompt of [0, 40, 500]) {
      await books.reserve(request(`${name}/a`));
      await books.settle(`${name}/a`, { ...NO_TOKENS, prompt });
    }
    expect((await rows(name)).map(({ key, usd }) => [key.slice(name.length), usd])).toEqual([
      ["/a", 0.0005],
      ["/a#1", 0],
      ["/a#2", 0.00004],
    ]);
  });

  it("is settled by whoever finds the answer that its holder kept before it died", async () => {
    const name = await experiment({ usd: 1 });
    await booksOf(name).reserve(request(`${name}/a`));
    await booksOf(name).settle(`${name}/a`, { ...NO_TOKENS, prompt: 70 });
    expect(await rows(name)).toMatchObject([{ key: `${name}/a`, usd: 0.00007, used: { prompt: 70 } }]);
  });

  it("stays when its holder dies, and is paid in full beside the one of the next attempt", async () => {
    const name = await experiment({ usd: 0.005 });
    await booksOf(name).reserve(request(`${name}/a`));
    expect(await usage(name)).toMatchObject({ usd: 0.002, reservedUsd: 0.002 });
    const retry = booksOf(name);
    await retry.reserve(request(`${name}/a`));
    await retry.settle(`${name}/a`, { ...NO_TOKENS, prompt: 500 });
    expect(await rows(name)).toMatchObject([
      { key: `${name}/a`, usd: 0.0005, used: { prompt: 500 } },
      { key: `${name}/a#1`, usd: 0.002, used: null, settled_at: expect.any(Date) },
    ]);
    expect(await usage(name)).toMatchObject({ usd: 0.0025, reservedUsd: 0.002 });
  });

  it("is corrected by a holder that was only thought dead", async () => {
    const name = await experiment({ usd: 0.01 });
    const [first, second] = [booksOf(name), booksOf(name)];
    await first.reserve(request(`${name}/a`));
    await second.reserve(request(`${name}/a`));
    await first.settle(`${name}/a`, { ...NO_TOKENS, prompt: 100 });
    await second.settle(`${name}/a`, { ...NO_TOKENS, prompt: 200 });
    expect((await rows(name)).map(({ usd }) => usd)).toEqual([0.0002, 0.0001]);
  });

  it("is refused where dollars are bounded and the model has no price", async () => {
    const name = await experiment({ usd: 1 }, {} as never);
    await expect(booksOf(name).reserve(request(`${name}/a`))).rejects.toMatchObject({
      name: "SpendError",
      kind: "unpriced",
      message: "prices.writer: expected the prices of prompt and generated, as budget.usd is set",
    });
  });

  it("is granted as soon as the budget is raised", async () => {
    const name = await experiment({ usd: 0.001 });
    await expect(booksOf(name).reserve(request(`${name}/a`))).rejects.toMatchObject({ kind: "exhausted" });
    const amendment = { request: "r", path: "budget.usd", value: 0.002, old: 0.001, fromIteration: 1 };
    await recordAmendments(db, name, [amendment]);
    await booksOf(name).reserve(request(`${name}/a`));
  });
});
