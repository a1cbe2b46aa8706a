/** An author's candidates by the activities, on a real record: the ledger is right to the token, nothing is asked twice, repairs keep what was before. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toFailure } from "../../activities/context.ts";
import type { CandidateRef, EnvironmentRef, SynthesiseInput } from "../../activities/types.ts";
import { NO_TOKENS, type TokenCounts } from "../../core/spend.ts";
import type { AuthorSettings } from "../../core/synthesis.ts";
import { createExperiment, getJson } from "../../services/store/index.ts";
import type { Candidate } from "../../services/synthesis/index.ts";
import { authorSettings, spentBy } from "../support/author-books.ts";
import { testSettings } from "../support/record.ts";
import { type ScriptedAuthor, startScriptedAuthor } from "../support/scripted-author/server.ts";
import { type ActivityBench, call, openActivityBench, sandboxActivities } from "./activities-services.ts";

let bench: ActivityBench;
let sandbox: ReturnType<typeof sandboxActivities>;
let environment: EnvironmentRef;
const servers: ScriptedAuthor[] = [];

beforeAll(async () => {
  bench = await openActivityBench();
  sandbox = sandboxActivities(bench.services);
  environment = await call(sandbox.prepareEnvironment, { name: "text-table", repeats: 1 });
}, 300_000);
afterAll(async () => {
  for (const server of servers) await server.close();
  await bench?.close();
});

async function author(personality: Parameters<typeof startScriptedAuthor>[0]["personality"]) {
  const server = await startScriptedAuthor({ personality });
  servers.push(server);
  return server;
}

async function inputOf(experiment: string, settings: AuthorSettings): Promise<SynthesiseInput> {
  await createExperiment(bench.services.db, {
    name: experiment,
    settings: testSettings({ seed: 1, iterations: 1 }),
    codeVersion: "test",
  });
  return {
    seed: 1,
    randomKeys: [1, "pool"],
    environments: [environment],
    choice: "random",
    functions: "all",
    mix: { llm: 1 },
    types: { bug: 0, feature: 1, refactor: 0, migration: 0, performance: 0 },
    heldOutShare: 0,
    exclude: null,
    author: settings,
    from: 0,
    count: 1,
    scope: { experiment, iteration: 1, try: 1 },
    reuse: null,
  };
}

const spent = (experiment: string) =>
  bench.services.db
    .selectFrom("spend")
    .selectAll()
    .where("experiment", "=", experiment)
    .orderBy("key")
    .execute();

/** As `spentBy` sums what a server counted. */
async function ledger(experiment: string) {
  const rows = await spent(experiment);
  const settled = new Map(rows.map(({ key, used }) => [key, (used ?? NO_TOKENS) as TokenCounts]));
  return spentBy({ settled, reserved: [], reserve: async () => {}, settle: async () => {} });
}

async function firstOf(input: SynthesiseInput): Promise<CandidateRef> {
  const { candidates, empty } = await call(sandbox.synthesise, input);
  expect(empty).toEqual([]);
  return candidates[0]!;
}

describe("synthesise with an author", () => {
  it("books what the server counted, by candidate; the next attempt takes over what was answered", async () => {
    const server = await author("good");
    const input = await inputOf("books", authorSettings(server.url));
    const first = await firstOf(input);
    const requests = server.requests();
    expect(await ledger("books")).toEqual(spentBy(server));
    const rows = await spent("books");
    expect(rows.map(({ key }) => key)).toEqual(
      [0, 1, 2, 3].map((turn) => `books/it/1/try/1/author/0/${turn}`),
    );
    for (const row of rows)
      expect(row).toMatchObject({ candidate: 0, generator: "llm", phase: "synthesise", model: "scripted" });
    expect(await firstOf(input)).toEqual(first);
    expect(server.requests()).toBe(requests);
    expect(await ledger("books")).toEqual(spentBy(server));
    const kept = await getJson<Candidate>(bench.services.artifacts, first.artifact);
    expect(kept).toMatchObject({
      type: "feature",
      generator: "llm",
      origin: { author: { mode: "feature" } },
    });
  });

  it("goes on where an attempt met a server that failed: every answer is asked and paid once", async () => {
    const server = await author("good");
    const settings = authorSettings(server.url);
    const input = await inputOf("interrupted", settings);
    server.failFrom(2);
    await expect(call(sandbox.synthesise, input)).rejects.toMatchObject({ type: "Infrastructure" });
    expect(server.counted).toHaveLength(2);
    server.failFrom(null);
    await firstOf(input);
    expect(server.counted).toHaveLength(4);
    expect(await ledger("interrupted")).toEqual(spentBy(server));
    expect((await spent("interrupted")).every(({ settled_at }) => settled_at !== null)).toBe(true);
  });

  it("fails once and for all where someone has to change a setting", async () => {
    const server = await author("other-model");
    const input = await inputOf("other", authorSettings(server.url));
    const failure = await call(sandbox.synthesise, input).then(
      () => null,
      (error: unknown) => toFailure(error),
    );
    expect(failure).toMatchObject({ type: "BadInput", nonRetryable: true });
    expect((failure as Error).message).toMatch(
      /^synthesis\.author\.model scripted: .*answers as another-model/,
    );
    expect(await ledger("other")).toEqual(spentBy(server));
  });
});

describe("repair", () => {
  it("gives a candidate of the same index, and keeps on record what was refused", async () => {
    const server = await author("improving");
    const source = await inputOf("repaired", authorSettings(server.url));
    const candidate = await firstOf(source);
    const recordScope = "repaired/it/1/try/1";
    const { scope } = source;
    const validation = { recordScope, stabilityRuns: 1, level: 1, scope: scope!, reuse: null } as const;
    const { rejectedBy } = await call(sandbox.validate, { ...validation, candidate });
    expect(rejectedBy).toBe("leak");
    const repair = { recordScope, candidate, round: 1, messages: ["leak: it tells too much"], source };
    const made = await call(sandbox.repair, repair);
    expect(made).toMatchObject({ reason: null, candidate: { index: 0, generator: "llm" } });
    expect(await call(sandbox.repair, repair)).toEqual(made);
    expect(await ledger("repaired")).toEqual(spentBy(server));
    const next = await getJson<Candidate>(bench.services.artifacts, made.candidate!.artifact);
    expect(next.origin?.author?.repairs).toBe(1);
    expect(
      (await call(sandbox.validate, { ...validation, candidate: made.candidate! })).rejectedBy,
    ).toBeNull();
    const row = await bench.services.db
      .selectFrom("validations")
      .select(["outcome", "repairs"])
      .where("scope", "=", recordScope)
      .executeTakeFirstOrThrow();
    expect(row.outcome).toBe("valid");
    expect(row.repairs).toMatchObject([{ outcome: "leak", artifact: candidate.artifact }]);
  });
});
