/** Refinement on a real record, with a real package: what rollouts tell, what is made of a task, and what is kept of it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRecordActivities, type SandboxServices } from "../../activities/index.ts";
import type { CandidateRef, FilterInput, GroupInput, RewriteInput } from "../../activities/types.ts";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, Task } from "../../core/task.ts";
import {
  createExperiment,
  getJson,
  getStatement,
  getTask,
  putJson,
  recentFailures,
  recordStatement,
  taskLineage,
} from "../../services/store/index.ts";
import { indexBenchmark, writeStatement } from "../../services/synthesis/index.ts";
import { recordTestExperiment, testTask } from "../support/record.ts";
import { startRewordingAuthor } from "../support/rewording-author.ts";
import { smallestSettings as settings } from "../support/smallest.ts";
import {
  type ActivityBench,
  call,
  changeOf,
  groupOf,
  type Member,
  makeTask,
  openActivityBench,
  recordGraded,
  sandboxActivities,
} from "./activities-services.ts";

let bench: ActivityBench;
let services: SandboxServices;
let task: Task;
let candidate: CandidateRef;
beforeAll(async () => {
  bench = await openActivityBench();
  services = bench.services;
  ({ task, candidate } = await makeTask(services, "text-table"));
  for (const level of [1, 3] as const) await recordStatement(services.db, writeStatement(task, level));
}, 300_000);
afterAll(() => bench?.close());

const loaded = async (id: string): Promise<Task> =>
  getJson(services.artifacts, (await getTask(services.db, id)).artifact);

describe("a diagnosis", () => {
  const decide = async (key: string, members: readonly Member[], change: Partial<FilterInput> = {}) => {
    const size = members.length;
    const level = change.level ?? 1;
    const group: GroupInput = groupOf(settings, task.id, { key, phase: "probe", size, level });
    await recordGraded(services, group, members);
    const passes = members.filter(({ outcome }) => outcome === "passed").length;
    const input: FilterInput = {
      ...{
        recordScope: key,
        candidate: 0,
        taskId: task.id,
        level,
        refinement: 0,
        probed: [level],
        group,
        passes,
      },
      filter: { ...settings.filter, probes: size, band: { low: 0.5, high: 0.5 } },
      levels: { min: 0, max: 3 },
      ...change,
    };
    const decision = await call(createRecordActivities(services).filter, input);
    const row = await services.db
      .selectFrom("probes")
      .select(["decision", "diagnosis"])
      .where("scope", "=", key)
      .executeTakeFirstOrThrow();
    expect(row.diagnosis).toEqual(decision.diagnosis ?? null);
    return { decision, row };
  };
  const solved: Member = { outcome: "passed", change: [] };
  const failed: Member = { outcome: "failed" };
  const gold = (): Member => ({ outcome: "passed", change: task.gold });

  it("says that tests are weak where the files of the solution were left alone, and who can mend it", async () => {
    const means = { rewrite: false, harden: false, sendBack: true, hint: false };
    const { decision, row } = await decide("weak", [solved, solved], { means });
    expect(decision).toMatchObject({ action: "send-back", diagnosis: { cause: "weak-tests" } });
    expect(row.decision).toBe("send-back");
    const alone = await decide("weak-levels", [solved, solved]);
    expect(alone.decision).toMatchObject({
      action: "lower-level",
      level: 0,
      diagnosis: { cause: "weak-tests" },
    });
  });

  it("tells what is easy from what the statement gives away", async () => {
    expect((await decide("easy", [gold(), gold()])).decision.diagnosis).toEqual({
      cause: "too-easy",
      evidence: "2 of 2 rollouts pass, by changes at the intended place",
    });
    expect((await decide("told", [gold(), gold()], { level: 3 })).decision.diagnosis?.cause).toBe("leak");
  });

  it("tells who never came near from who was cut short, and who satisfied the statement alone", async () => {
    expect((await decide("lost", [failed, failed])).decision).toMatchObject({
      action: "raise-level",
      diagnosis: { cause: "does-not-find-the-place" },
    });
    const cut: Member = { ...failed, exit: "max_turns" };
    expect((await decide("cut", [cut, cut])).decision.diagnosis?.cause).toBe("cut-short");
    const { command, expected } = task.facts.reproduction!;
    const satisfied: Member = {
      ...{ outcome: "failed", change: [...changeOf("failed"), ...nearMiss(task)] },
      commands: [{ command, result: `Exit code: 0\nSTDOUT:\n${expected}` }],
    };
    const { decision } = await decide("disagreement", [satisfied, satisfied]);
    expect(decision.diagnosis?.cause).toBe("statement-test-disagreement");
  });
});

/** The line of the mistake in another way that changes nothing. */
function nearMiss({ base, facts }: Task): FileChange[] {
  const [site] = facts.sites;
  return base.flatMap((change): FileChange[] => {
    if (change.kind !== "write" || change.path !== site!.file) return [];
    const lines = change.content.split("\n");
    lines.splice(site!.line - 1, 1, `${lines[site!.line - 1]} `);
    return [{ ...change, content: lines.join("\n") }];
  });
}

describe("harden", () => {
  it("combines a task with another mistake: the same from the same, valid as any, both forms on record", async () => {
    const activities = sandboxActivities(services);
    const scope = { experiment: "e", iteration: 1, try: 1 };
    const recordScope = "e/it/1/try/1";
    const harden = (round: number) =>
      call(activities.harden, {
        ...{ scope, reuse: null, candidate, taskId: task.id, round, seed: 1, heldOutShare: 0.3 },
      });
    const validate = (made: CandidateRef, round: number) =>
      call(activities.validate, {
        ...{ recordScope, candidate: made, stabilityRuns: 1, level: 1, revision: round },
      });
    const refused: string[] = [];
    for (let round = 1; round <= 8; round++) {
      const { candidate: made } = await harden(round);
      expect(await harden(round)).toMatchObject({ candidate: { key: made?.key } });
      if (made === null) continue;
      expect(made).toMatchObject({ index: candidate.index, generator: "combination" });
      expect(made.key).not.toBe(candidate.key);
      const { taskId, rejectedBy, message } = await validate(made, round);
      if (taskId === null) {
        expect([rejectedBy, message]).not.toContain(null);
        refused.push(rejectedBy!);
        continue;
      }
      const harder = await loaded(taskId);
      expect(harder.type).toBe("bug");
      expect(harder.facts.sites).toHaveLength(task.facts.sites.length + 1);
      expect(harder.facts.origin?.revises).toEqual({ task: task.id, action: "harden", round });
      expect(composeChanges(harder.base, harder.gold)).toEqual(harder.gold);
      const row = await services.db
        .selectFrom("validations")
        .select(["task_id", "generator", "repairs"])
        .where("scope", "=", recordScope)
        .where("candidate", "=", candidate.index)
        .executeTakeFirstOrThrow();
      expect(row).toMatchObject({ task_id: taskId, generator: "combination" });
      expect(row.repairs?.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["valid", ...refused]);
      return;
    }
    throw new Error(`no second mistake in 8 draws: ${refused.join(", ")}`);
  });
});

describe("rewrite", () => {
  const good = {
    title: "Columns come out of line",
    body: "Rows of a table that text-table prints are not aligned as they should be for some inputs.",
    contract: "",
  };
  const ask = (experiment: string, url: string, change: Partial<RewriteInput> = {}) =>
    call(sandboxActivities(services).rewrite, {
      ...{
        scope: { experiment, iteration: 1, try: 1 },
        reuse: null,
        candidate: 4,
        generator: "mutation" as const,
      },
      ...{ taskId: task.id, level: 1, round: 2, action: "add-behaviour" as const },
      diagnosis: { cause: "too-hard", evidence: "8 of 8 rollouts fail" },
      author: {
        ...{ baseUrl: url, model: "words", apiKeyEnv: null, maxTurns: 9, maxTokens: 50, temperature: 1 },
        ...{ repairs: 0, timeoutSeconds: 30 },
      },
      ...change,
    });
  const open = (name: string) => createExperiment(services.db, { name, settings, codeVersion: "0" });
  const goldLine = (): string => {
    const linesOf = (changes: readonly FileChange[]) =>
      changes.flatMap((change) => (change.kind === "write" ? change.content.split("\n") : []));
    const base = new Set(linesOf(task.base));
    return linesOf(task.gold)
      .find((line) => !base.has(line))!
      .trim();
  };

  it("takes the first text that passes the gates, makes it another task, and pays for each answer once", async () => {
    await open("rewrite");
    const leaky = { ...good, body: `${good.body} Write ${goldLine()} there.` };
    const author = await startRewordingAuthor([null, leaky, good]);
    try {
      const { taskId, level, reason } = await ask("rewrite", author.url);
      expect([level, reason]).toEqual([1, null]);
      expect(taskId).not.toBe(task.id);
      const made = await loaded(taskId!);
      expect(made.facts.text).toEqual(good);
      expect(made.facts.origin?.revises).toEqual({ task: task.id, action: "add-behaviour", round: 2 });
      const same = ({ id: _, facts: __, ...rest }: Task) => rest;
      expect(same(made)).toEqual(same(task));
      expect((await getStatement(services.db, taskId!, 1)).text).toContain(good.title);
      const [first, , third] = author.asked;
      const shown = first!.messages[0]!.content;
      for (const part of [goldLine(), "too-hard: 8 of 8 rollouts fail", task.hiddenFiles[0]!])
        expect(shown).toContain(part);
      expect(third!.messages.at(-1)!.content).toContain("a line of the gold change");
      const spent = await services.db
        .selectFrom("spend")
        .select(["phase", "candidate", "used"])
        .where("experiment", "=", "rewrite")
        .execute();
      const used = { prompt: 100, cached: 0 };
      expect(spent).toMatchObject(new Array(3).fill({ phase: "refine", candidate: 4, used }));
      const [piece] = await services.db
        .selectFrom("pieces")
        .select("result")
        .where("experiment", "=", "rewrite")
        .where("kind", "=", "rewrite")
        .execute();
      expect(piece!.result.gates).toMatchObject([{ gate: "leak" }, { gate: "determined" }]);
      expect(await ask("rewrite", author.url)).toEqual({ taskId, level, reason });
      expect(author.asked).toHaveLength(3);
    } finally {
      await author.close();
    }
  });

  it("takes no text that shares 13 words with a benchmark of the experiment", async () => {
    await open("rewrite-shared");
    const shared = "every widget of the copied benchmark text keeps its border when the frame grows wider";
    const { uri } = await putJson(services.artifacts, await indexBenchmark("copied", [shared]), "keys");
    const copied = { ...good, body: `${good.body} But ${shared}.` };
    const author = await startRewordingAuthor([copied, good]);
    try {
      const { taskId } = await ask("rewrite-shared", author.url, { decontaminate: [uri] });
      expect((await loaded(taskId!)).facts.text).toEqual(good);
      expect(author.asked[1]!.messages.at(-1)!.content).toContain("the text shares 13 words with copied");
      const [piece] = await services.db
        .selectFrom("pieces")
        .select("result")
        .where("experiment", "=", "rewrite-shared")
        .where("kind", "=", "rewrite")
        .execute();
      expect(piece!.result.gates.at(-1)).toMatchObject({ gate: "contamination", passed: true });
    } finally {
      await author.close();
    }
  });

  it("gives up with the gates' own words, and that too is asked once", async () => {
    await open("unwritable");
    const author = await startRewordingAuthor([{ ...good, body: goldLine() }]);
    try {
      const output = await ask("unwritable", author.url, { action: "state-contract" });
      expect(output.taskId).toBeNull();
      expect(output.reason).toContain("a line of the gold change");
      expect(author.asked).toHaveLength(3);
      expect(await ask("unwritable", author.url, { action: "state-contract" })).toEqual(output);
      expect(author.asked).toHaveLength(3);
    } finally {
      await author.close();
    }
  });

  it("keeps said what the contract says", async () => {
    await open("contract");
    const stated = { ...good, contract: "A row without cells prints `''`, and `opts.align` is kept." };
    const lost = { ...good, title: "Rows of a table come out of line", contract: "`opts.align` is kept." };
    const author = await startRewordingAuthor([stated, lost, { ...stated, title: lost.title }]);
    try {
      const before = await ask("contract", author.url);
      const after = await ask("contract", author.url, { taskId: before.taskId!, round: 3 });
      expect((await loaded(after.taskId!)).facts.text).toEqual({ ...stated, title: lost.title });
      expect(author.asked.at(-1)!.messages.at(-1)!.content).toContain("the contract said `''`");
    } finally {
      await author.close();
    }
  });
});

describe("the record", () => {
  const scope = "lineage/it/1/try/1";
  beforeAll(() => recordTestExperiment(services.db, services.artifacts, "lineage"));

  it("tells a task's revisions with its rate before and after, and what its climb did", async () => {
    const [lineage, ...others] = (await taskLineage(services.db, testTask(1).id)).filter(
      (one) => one.scope === scope,
    );
    expect(others).toEqual([]);
    expect(lineage).toMatchObject({ scope, candidate: 1 });
    expect(lineage!.revisions).toMatchObject([
      {
        action: "refine",
        level: 1,
        before: { passes: 0, runs: 4, rate: 0 },
        after: { passes: 1, rate: 0.25 },
      },
      { action: "admit", level: 2, before: { passes: 1, runs: 4 }, after: null },
    ]);
    const { low, high } = lineage!.revisions[1]!.before;
    expect([low > 0 && low < 0.25, high > 0.25 && high < 1]).toEqual([true, true]);
    const [climbed] = await taskLineage(services.db, testTask(0).id);
    expect(climbed!.climb).toMatchObject([
      { update: 1, passes: 2, runs: 4 },
      { update: 2, passes: 4, runs: 4, rate: 1 },
    ]);
  });

  it("keeps what failed in the pool as it was read and in the climb, for later iterations alone", async () => {
    const { db } = services;
    const input = { scope: { experiment: "lineage", iteration: 1, try: 1 } };
    const note = () => call(createRecordActivities(services).noteFailures, input);
    const diagnosis = JSON.stringify({ cause: "too-hard", evidence: "4 of 4 rollouts fail" });
    await db.updateTable("probes").set({ diagnosis }).where("scope", "=", scope).execute();
    const read = (last_candidate: number) =>
      db.updateTable("iterations").set({ last_candidate }).where("experiment", "=", "lineage").execute();
    const seen = async (limit = 9, before = 2) => recentFailures(db, "lineage", before, limit);
    await read(0);
    await note();
    expect(await seen()).toEqual([]);
    await read(3);
    await note();
    await note();
    expect(await seen()).toEqual(
      new Array(2).fill({
        type: "bug",
        environment: "minimist",
        statement: "add(1, 2) prints -1 (level 1).",
        diagnosis: "too-hard",
        evidence: expect.stringMatching(/^4 of 4 rollouts fail; this one ended by agent after \d turns$/),
      }),
    );
    expect(await seen(1)).toHaveLength(1);
    expect(await seen(9, 1)).toEqual([]);
    expect(await recentFailures(db, "other", 2, 9)).toEqual([]);
  });
});
