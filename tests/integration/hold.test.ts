/** Activities under a hold that is on record in a real Postgres. */
import { tmpdir } from "node:os";
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { heartbeating } from "../../activities/context.ts";
import { withHold } from "../../activities/hold.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import {
  addSandboxSeconds,
  createExperiment,
  type Db,
  holdExperiment,
  readHold,
  recordAmendments,
  releaseExperiment,
  spendBooks,
} from "../../services/store/index.ts";
import { TrainerError } from "../../services/trainers/errors.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { smallest } from "./workflows-recorder.ts";

let record: TestRecord;
let db: Db;
beforeAll(async () => {
  record = await openTestRecord();
  ({ db } = record);
}, 60_000);
afterAll(() => record?.close());

const hold = { kind: "user", reason: "to look" };

async function running(name: string, change: Partial<ExperimentSettings> = {}): Promise<void> {
  await createExperiment(db, { name, settings: { ...smallest, ...change }, codeVersion: "test" });
}

const WATERMARK_ON_ANY_DISK = 2 ** 40;

function run(
  workflow: string,
  verb: string,
  work: () => Promise<unknown>,
  minFreeMb: number | null = null,
): Promise<unknown> {
  const environment = new MockActivityEnvironment({
    workflowExecution: { workflowId: workflow, runId: "run" },
  });
  const disk = minFreeMb === null ? null : { folder: tmpdir(), minFreeMb };
  return environment.run(withHold({ db, disk }, { [verb]: work })[verb]!);
}

const climbOf = (experiment: string) => `exp/${experiment}/it/1/try/1/climb`;

describe("under a hold", () => {
  it("no activity begins until it is released", async () => {
    await running("begins");
    await holdExperiment(db, "begins", hold);
    let begun = 0;
    const work = async () => ++begun;
    await expect(run(climbOf("begins"), "verify", work)).rejects.toMatchObject({
      type: "Held",
      nonRetryable: false,
      message: "held (user): to look",
    });
    expect(begun).toBe(0);
    await releaseExperiment(db, { experiment: "begins", request: "r1" });
    expect(await run(climbOf("begins"), "verify", work)).toBe(1);
  });

  it("what can stop stops, and an update ends what it began", async () => {
    await running("stops");
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stopped = run(climbOf("stops"), "rollout", () =>
      heartbeating(({ signal }) => {
        begun[0]!.resolve();
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      }),
    );
    const finished = run(climbOf("stops"), "update", async () => {
      begun[1]!.resolve();
      await stopped.catch(() => undefined);
      return "made";
    });
    // A hold set before they have read the record would refuse them.
    await Promise.all(begun.map(({ promise }) => promise));
    await holdExperiment(db, "stops", hold);
    await expect(stopped).rejects.toMatchObject({ type: "Held", message: "held (user): to look" });
    expect(await finished).toBe("made");
  });

  it("a failure that holds sets it, and the first reason stays", async () => {
    await running("fails");
    const diverge = async () => {
      throw new TrainerError("diverged", "weights are not finite");
    };
    await expect(run(climbOf("fails"), "update", diverge)).rejects.toMatchObject({ type: "Held" });
    const set = { kind: "Diverged", reason: "weights are not finite" };
    expect((await readHold(db, "fails"))?.hold).toEqual(set);
    expect(await holdExperiment(db, "fails", hold)).toEqual(set);
  });

  it("none begins below the watermark of its disk, and all is held until there is room", async () => {
    await running("low");
    let begun = 0;
    const work = async () => ++begun;
    const low = run(climbOf("low"), "update", work, WATERMARK_ON_ANY_DISK);
    await expect(low).rejects.toMatchObject({ type: "Held", nonRetryable: false });
    expect(begun).toBe(0);
    const standing = (await readHold(db, "low"))?.hold;
    expect(standing).toEqual({
      kind: "DiskLow",
      reason: expect.stringMatching(
        /MB of free disk, the watermark is 1099511627776 MB \(TADPOLE_MIN_FREE_MB\)/,
      ),
    });
    expect(await releaseExperiment(db, { experiment: "low", request: "r1" })).toEqual(standing);
    expect(await run(climbOf("low"), "update", work, 1)).toBe(1);
  });

  it("nothing that costs begins once the budget is spent; what is paid for does, and all goes on when it is raised", async () => {
    const budget = { usd: null, authorTokens: null, sandboxHours: 0.5 };
    await running("spent", { budget });
    const use = { phase: "climb", work: "rollout", item: "g", taskId: null, generator: null } as const;
    const scope = { experiment: "spent", iteration: 1, try: 1 };
    await addSandboxSeconds(db, { ...use, scope }, 1800);
    const work = async () => "done";
    expect(await run(climbOf("spent"), "verify", work)).toBe("done");
    for (const request of ["r1", "r2"]) {
      await expect(run(climbOf("spent"), "rollout", work)).rejects.toMatchObject({ type: "Held" });
      // A resume alone changes nothing: it is held again, for the same reason.
      expect(await releaseExperiment(db, { experiment: "spent", request })).toEqual({
        kind: "BudgetSpent",
        reason: "budget.sandboxHours: 0.50 of 0.50 spent",
      });
    }
    const raised = { request: "a", path: "budget.sandboxHours", value: 1, old: 0.5, fromIteration: 1 };
    await recordAmendments(db, "spent", [raised]);
    expect(await run(climbOf("spent"), "rollout", work)).toBe("done");
  });

  it("a request that the budget does not hold holds its experiment", async () => {
    await running("asks", { budget: { usd: null, authorTokens: 100, sandboxHours: null } });
    const books = spendBooks(db, {
      experiment: "asks",
      iteration: 1,
      try: 1,
      candidate: 0,
      generator: "llm",
    });
    const asking = () =>
      books.reserve({
        key: "asks/1",
        phase: "synthesise",
        model: "writer",
        atMost: { prompt: 60, generated: 41 },
      });
    await expect(run(climbOf("asks"), "synthesise", asking)).rejects.toMatchObject({ type: "Held" });
    expect((await readHold(db, "asks"))?.hold).toEqual({
      kind: "BudgetSpent",
      reason: "budget.authorTokens: 0 of 100 spent, and the next request may take 101",
    });
  });

  it("what is on record under no name fails as it is, to be tried again", async () => {
    const full = run(
      "eval/nano-1/heldout/sampled/exp/nowhere",
      "rollout",
      async () => 1,
      WATERMARK_ON_ANY_DISK,
    );
    await expect(full).rejects.toMatchObject({ type: "DiskLow", nonRetryable: false });
    expect(await holdExperiment(db, "nowhere", hold)).toBeNull();
  });

  it("a release answers its request alike however often it is asked, and ends no later hold", async () => {
    await running("released");
    const release = (request: string) => releaseExperiment(db, { experiment: "released", request });
    expect(await release("none")).toBeNull();
    await holdExperiment(db, "released", hold);
    const both = await Promise.all([release("r1"), release("r1")]);
    expect(both).toEqual([hold, hold]);
    expect((await readHold(db, "released"))?.epoch).toBe(1);
    await holdExperiment(db, "released", { kind: "user", reason: "again" });
    expect(await release("r1")).toEqual(hold);
    expect((await readHold(db, "released"))?.hold).toEqual({ kind: "user", reason: "again" });
  });
});
