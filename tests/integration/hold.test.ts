/** Activities under a hold that is on record in a real Postgres. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { heartbeating } from "../../activities/context.ts";
import { experimentOf, withHold } from "../../activities/hold.ts";
import {
  createExperiment,
  type Db,
  holdExperiment,
  openDatabase,
  readHold,
  releaseExperiment,
} from "../../services/store/index.ts";
import { TrainerError } from "../../services/trainers/errors.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { smallest } from "./workflows-recorder.ts";

let server: TestPostgres;
let db: Db;
beforeAll(async () => {
  server = await startTestPostgres();
  db = await openDatabase(server.url);
}, 60_000);
afterAll(async () => {
  await db?.destroy();
  await server?.stop();
});

const hold = { kind: "user", reason: "to look" };

async function running(name: string): Promise<void> {
  await createExperiment(db, { name, settings: smallest, codeVersion: "test" });
}

function run(experiment: string, verb: string, work: () => Promise<unknown>): Promise<unknown> {
  const environment = new MockActivityEnvironment({
    workflowExecution: { workflowId: `exp/${experiment}/it/1/try/1/climb`, runId: "run" },
  });
  return environment.run(withHold(db, { [verb]: work })[verb]!);
}

/** Ends when it is told to stop. */
const untilStopped = () =>
  heartbeating(
    ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
  );

describe("under a hold", () => {
  it("no activity begins until it is released", async () => {
    await running("begins");
    await holdExperiment(db, "begins", hold);
    let begun = 0;
    const work = async () => ++begun;
    await expect(run("begins", "verify", work)).rejects.toMatchObject({
      type: "Held",
      nonRetryable: false,
      message: "held (user): to look",
    });
    expect(begun).toBe(0);
    await releaseExperiment(db, "begins");
    expect(await run("begins", "verify", work)).toBe(1);
  });

  it("what can stop stops, and an update ends what it began", async () => {
    await running("stops");
    const stopped = run("stops", "rollout", untilStopped);
    const finished = run("stops", "update", async () => {
      await stopped.catch(() => undefined);
      return "made";
    });
    // Both have begun once they have read the record; a hold set before would refuse them.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await holdExperiment(db, "stops", hold);
    await expect(stopped).rejects.toMatchObject({ type: "Held", message: "held (user): to look" });
    expect(await finished).toBe("made");
  });

  it("a failure that holds sets it, and the first reason stays", async () => {
    await running("fails");
    const diverge = async () => {
      throw new TrainerError("diverged", "weights are not finite");
    };
    await expect(run("fails", "update", diverge)).rejects.toMatchObject({ type: "Held" });
    const set = { kind: "Diverged", reason: "weights are not finite" };
    expect((await readHold(db, "fails"))?.hold).toEqual(set);
    expect(await holdExperiment(db, "fails", hold)).toEqual(set);
  });

  it("finds its experiment in the id of every workflow", () => {
    expect(experimentOf("exp/a")).toBe("a");
    expect(experimentOf("exp/a/it/1/try/2/climb")).toBe("a");
    expect(experimentOf("eval/nano-1/exp/sampled/exp/a/it/1/try/1")).toBe("a");
    expect(experimentOf("schedule/nightly")).toBeNull();
  });
});
