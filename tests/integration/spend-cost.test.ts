/** What an experiment cost, read from a real record: every part once, and the same sums by every grouping. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { costOf, showCost } from "../../apps/control/cost.ts";
import { COST_GROUPINGS, sumCosts } from "../../core/cost.ts";
import { addTokens, NO_TOKENS, SPEND_PHASES, type TokenCounts, totalOf } from "../../core/spend.ts";
import {
  addSandboxSeconds,
  appendTurn,
  createExperiment,
  dropTurns,
  openAttempt,
  readCost,
  sealRollout,
  spendBooks,
} from "../../services/store/index.ts";
import { readSpendSettings, readUsage } from "../../services/store/usage.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { recordTestExperiment, rolloutRow, testSettings } from "../support/record.ts";

let record: TestRecord;
beforeAll(async () => {
  record = await openTestRecord();
}, 60_000);
afterAll(() => record?.close());

const PRICES = {
  nano: { prompt: 1, cached: 0.1, generated: 4 },
  writer: { prompt: 2, generated: 8 },
  "sandbox-hour": { perHour: 0.36 },
};
const TOKENS: TokenCounts = { prompt: 100, cached: 400, reasoning: 10, text: 20, toolCalls: 30 };

let made = 0;
async function experiment(prices: object = PRICES): Promise<string> {
  const name = `cost-${made++}`;
  await createExperiment(record.db, {
    name,
    settings: { ...testSettings(), prices: prices as never },
    codeVersion: "test",
  });
  return name;
}

const slotOf = (rolloutKey: string) => ({ rolloutKey, experiment: rolloutKey.split("/")[0]!, epoch: 0 });

async function accepted(key: string, tokens: TokenCounts | null): Promise<void> {
  const { fence } = await openAttempt(record.db, slotOf(key));
  await sealRollout(record.db, fence, rolloutRow(key, { tokens, trajectory: { uri: "artifact:x" } }));
}

const turn = (number: number, tokens: TokenCounts) => ({
  record: { turn: number, promptTokens: 1, completionTokens: 1, toolCalls: [], results: [], treeHash: null },
  promptTokens: [1],
  sampledTokens: [1],
  logProbs: [0],
  weightVersion: "nano-0",
  newSegment: number === 0,
  reply: {
    text: "",
    finish: "stop" as const,
    treeBefore: "",
    namesBefore: "",
    tokens,
    modelSeconds: 0,
    toolSeconds: 0,
  },
  answered: true,
});

const booksOf = (name: string, candidate = 3) =>
  spendBooks(record.db, { experiment: name, iteration: 1, try: 1, candidate, generator: "llm" });
const ask = (key: string) =>
  ({ key, phase: "synthesise", model: "writer", atMost: { prompt: 1000, generated: 1000 } }) as const;

describe("the cost of an experiment", () => {
  it("has the author's requests, the rollouts and the sandboxes, each by its price", async () => {
    const name = await experiment();
    const books = booksOf(name);
    await books.reserve(ask(`${name}/1`));
    await books.settle(`${name}/1`, TOKENS);
    await books.reserve(ask(`${name}/2`));
    await accepted(`${name}/it/1/try/1/task/0/probe/0/0`, TOKENS);
    await accepted(`${name}/it/1/try/1/climb/1/0/0`, TOKENS);
    const use = { phase: "climb", work: "rollout", item: "g", taskId: null, generator: null } as const;
    const scope = { experiment: name, iteration: 1, try: 1 };
    for (const seconds of [30, 20]) await addSandboxSeconds(record.db, { ...use, scope }, seconds);
    const cost = await showCost(record, name, "phase");
    // The author's 500 prompt tokens at 2 dollars by a million and 60 generated ones at 8; at most 1,000 of each.
    expect(cost.groups).toMatchObject([
      { of: "synthesise", requests: 2, tokens: TOKENS, usd: 0.01148, openRequests: 1, openTokens: 2000 },
      { of: "probe", rollouts: 1, tokens: TOKENS, usd: 0.00038 },
      { of: "climb", rollouts: 1, tokens: TOKENS, sandboxSeconds: 50, usd: 0.00538 },
    ]);
    expect(cost.total).toMatchObject({ usd: 0.01724, openUsd: 0.01, unpricedTokens: 0, unpricedSeconds: 0 });
  });

  it("tells what has no price beside the money, and what was not counted as such", async () => {
    const name = await experiment({});
    await booksOf(name).reserve(ask(`${name}/1`));
    await accepted(`${name}/it/1/try/1/climb/1/0/0`, TOKENS);
    await accepted(`${name}/it/1/try/1/climb/1/0/1`, null);
    const { total } = await showCost(record, name);
    expect(total).toMatchObject({
      usd: 0,
      rollouts: 2,
      uncountedRollouts: 1,
      tokens: TOKENS,
      unpricedTokens: totalOf(TOKENS) + 2000,
    });
  });

  it("has the turns that nobody went on from once, also when their attempt took them over from another", async () => {
    const name = await experiment();
    const key = `${name}/it/2/try/1/climb/1/0/0`;
    const first = await openAttempt(record.db, slotOf(key));
    await appendTurn(record.db, first.fence, turn(0, TOKENS));
    await appendTurn(record.db, first.fence, turn(1, TOKENS));
    const second = await openAttempt(record.db, slotOf(key));
    const lost = () => showCost(record, name).then(({ total }) => total);
    const two = addTokens(TOKENS, TOKENS);
    expect(await lost()).toMatchObject({ tokens: two, lostTokens: totalOf(two) });
    await dropTurns(record.db, second.fence, "begun anew");
    expect(await lost()).toMatchObject({ tokens: two, lostTokens: totalOf(two) });
    await appendTurn(record.db, second.fence, turn(0, TOKENS));
    await dropTurns(record.db, second.fence, "begun anew, again");
    await appendTurn(record.db, second.fence, turn(0, TOKENS));
    const row = rolloutRow(key, { tokens: TOKENS, trajectory: { uri: "artifact:x" } });
    await sealRollout(record.db, second.fence, row);
    const three = addTokens(two, TOKENS);
    expect(await lost()).toMatchObject({ tokens: addTokens(three, TOKENS), lostTokens: totalOf(three) });
    expect((await showCost(record, name)).attempts).toMatchObject({ superseded: 1, failed: 0, open: 0 });
  });

  it("is what the budget is held against: lost turns are in both, and a request whose price was taken away", async () => {
    const name = await experiment();
    const books = booksOf(name);
    await books.reserve(ask(`${name}/1`));
    const settings = { ...testSettings(), prices: { ...PRICES, writer: undefined } };
    const unpriced = { settings: JSON.stringify(settings) };
    await record.db.updateTable("experiments").set(unpriced).where("name", "=", name).execute();
    await books.settle(`${name}/1`, TOKENS);
    const hint = `${name}/it/2/try/1/task/4/hint/2/0`;
    const { fence } = await openAttempt(record.db, slotOf(hint));
    await appendTurn(record.db, fence, turn(0, TOKENS));
    const { total, groups } = await showCost(record, name);
    // All that was reserved, and a turn at 0.00038 dollars.
    expect(total).toMatchObject({ usd: 0.01038, unpricedTokens: 0, lostTokens: totalOf(TOKENS) });
    expect(groups.find(({ lostTokens }) => lostTokens > 0)).toMatchObject({ of: "probe" });
    const used = await readUsage(record.db, name, (await readSpendSettings(record.db, name))!);
    expect(used).toMatchObject({ usd: total.usd, authorTokens: totalOf(TOKENS), reservedUsd: 0 });
  });

  it("is told by admitted task and update, and by generator with what its candidates came to", async () => {
    await recordTestExperiment(record.db, record.artifacts, "demo");
    const use = { phase: "synthesise", work: "validation", taskId: null, generator: "mutation" } as const;
    const scope = { experiment: "demo", iteration: 1, try: 1 };
    for (const item of ["0", "1"]) await addSandboxSeconds(record.db, { ...use, scope, item }, 10);
    const cost = await showCost(record, "demo", "task");
    expect(cost.perAdmitted).toMatchObject({ count: 2, sandboxSeconds: 10 });
    expect(cost.perUpdate).toMatchObject({ count: 1 });
    expect(cost.generators).toMatchObject([
      { generator: "mutation", candidates: 3, valid: 2, admitted: 2, perAdmitted: { sandboxSeconds: 10 } },
      { generator: "removal", candidates: 1, valid: 1, admitted: 0, perAdmitted: null },
    ]);
    expect(cost.groups.filter(({ sandboxSeconds }) => sandboxSeconds > 0)).toHaveLength(2);
    expect(cost.total.uncountedRollouts).toBe(cost.total.rollouts);
  });

  it("counts no candidate as admitted that its pool had no use for any more", async () => {
    await recordTestExperiment(record.db, record.artifacts, "surplus");
    const own = record.db.updateTable("iterations").set({ last_candidate: 0 });
    await own.where("experiment", "=", "surplus").execute();
    const { generators } = await showCost(record, "surplus");
    expect(generators).toMatchObject([{ candidates: 3, valid: 2, admitted: 1 }, { admitted: 0 }]);
  });

  it("is refused for an experiment that is not on record", async () => {
    await expect(showCost(record, "nobody")).rejects.toMatchObject({ kind: "missing" });
  });
});

describe("sums", () => {
  const count = fc.integer({ min: 0, max: 90_000 });
  const tokens = fc.record({ prompt: count, cached: count, reasoning: count, text: count, toolCalls: count });
  const request = fc.record({
    phase: fc.constantFrom(...SPEND_PHASES),
    iteration: fc.constantFrom(null, 1, 2),
    generator: fc.constantFrom(null, "llm" as const, "history" as const),
    candidate: fc.integer({ min: 0, max: 3 }),
    tokens: fc.option(tokens),
  });
  const rollout = fc.record({ place: fc.constantFrom("probe", "climb"), tokens: fc.option(tokens) });
  const box = fc.record({
    phase: fc.constantFrom(...SPEND_PHASES),
    seconds: fc.double({ min: 0, max: 1e4, noNaN: true }),
  });

  it("are the same by every grouping, and those of the books", async () => {
    const all = fc.record({
      requests: fc.array(request, { maxLength: 6 }),
      rollouts: fc.array(rollout, { maxLength: 5 }),
      boxes: fc.array(box, { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(all, async ({ requests, rollouts, boxes }) => {
        const name = await experiment();
        for (const [i, one] of requests.entries()) {
          const { iteration, candidate, generator, phase } = one;
          const books = spendBooks(record.db, {
            experiment: name,
            iteration,
            try: iteration === null ? null : 1,
            candidate,
            generator,
          });
          await books.reserve({ ...ask(`${name}/${i}`), phase });
          if (one.tokens) await books.settle(`${name}/${i}`, one.tokens);
        }
        for (const [i, { place, tokens: used }] of rollouts.entries())
          await accepted(
            `${name}/it/1/try/1/${place === "probe" ? "task/0/probe/0" : "climb/1/0"}/${i}`,
            used,
          );
        for (const [i, { phase, seconds }] of boxes.entries()) {
          const scope = { experiment: name, iteration: i % 3, try: 1 };
          const use = {
            scope,
            phase,
            work: "verdict",
            item: String(i),
            taskId: null,
            generator: null,
          } as const;
          await addSandboxSeconds(record.db, use, seconds);
        }
        const read = await readCost(record.db, name);
        const total = sumCosts(read.entries);
        for (const by of COST_GROUPINGS) {
          const { groups, ...cost } = costOf(name, by, read);
          expect(cost.total).toEqual(total);
          expect(sumCosts(groups)).toEqual(total);
          expect(new Set(groups.map(({ of }) => of)).size).toBe(groups.length);
        }
        const counted = [...requests, ...rollouts].flatMap((one) => one.tokens ?? []);
        expect(total.tokens).toEqual(counted.reduce(addTokens, NO_TOKENS));
        expect(total.openRequests).toBe(requests.filter((one) => one.tokens === null).length);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });
});
