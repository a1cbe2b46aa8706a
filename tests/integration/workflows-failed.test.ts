/** An iteration that fails says so on record, wherever people look, and goes on from it when it is run again. */
import { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRecordActivities } from "../../activities/index.ts";
import {
  experimentsPage,
  iterationsPage,
  outcome,
  startExperiment,
  steeringState,
} from "../../apps/control/index.ts";
import { experimentId } from "../../core/ids.ts";
import { type Db, listTries } from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import {
  bundleWorkflows,
  changed,
  openWorkflowBench,
  policyOf,
  Recorder,
  type WorkflowBench,
} from "./workflows-recorder.ts";

let record: TestRecord;
let db: Db;
let bench: WorkflowBench;
const session = () => ({ db, client: bench.client, codeVersion: "test" });

beforeAll(async () => {
  record = await openTestRecord();
  ({ db } = record);
  bench = await openWorkflowBench(await bundleWorkflows());
}, 120_000);
afterAll(async () => {
  await bench?.close();
  await record?.close();
});

/** The recorder's work on the real record; `update` is what a climb does. */
function work(update: (made: ReturnType<typeof policyOf>) => Promise<ReturnType<typeof policyOf>>): void {
  // Of none of the other services do the activities used here know.
  const real = createRecordActivities({ db, disk: null, ...({} as { artifacts: never; policy: never }) });
  const { findIteration, recordExperiment, recordIteration } = real;
  bench.use(
    new Recorder({
      ...{ findIteration, recordExperiment, recordIteration },
      update: ({ parent, update: number }) =>
        update(policyOf(`${parent.id}+${number}`, parent.id, parent.step + 1)),
    }),
  );
}

const statuses = async (name: string) =>
  (await iterationsPage({ db }, { filters: { experiment: name } })).items.map(({ status }) => status);

describe("an iteration that fails", () => {
  it("is failed on record with its pool, says why in every list, and goes on from there", async () => {
    const reason = "the batch is of another policy";
    work(() => Promise.reject(ApplicationFailure.nonRetryable(reason, "Conflict")));
    expect(await startExperiment(session(), "failing", changed())).toBe("started");
    expect(await outcome(session(), "failing")).toMatchObject({ reason });

    const [failed] = await listTries(db, "failing");
    expect(failed).toMatchObject({ try: 1, status: "failed", end_policy: null, pool: { admitted: 2 } });
    const found = { filters: { experiment: "failing", status: "failed" } };
    expect((await iterationsPage({ db }, found)).items).toHaveLength(1);
    const listed = await experimentsPage(session(), { filters: { status: "failed" } });
    expect(listed.items).toMatchObject([{ name: "failing", error: reason }]);
    expect(await steeringState(session(), "failing")).toMatchObject({
      status: "ended",
      phase: "failed",
      error: reason,
    });
    const event = await db
      .selectFrom("events")
      .select("detail")
      .where("key", "=", "failing/it/1/try/1/failed")
      .executeTakeFirst();
    expect(event?.detail).toMatchObject({ phase: "failed", error: reason });

    work(async (made) => made);
    expect(await startExperiment(session(), "failing", changed())).toBe("resumed");
    const [running] = (await experimentsPage(session(), { filters: { status: "running" } })).items;
    expect(running).toMatchObject({ name: "failing", error: null });
    expect(await outcome(session(), "failing")).toBeNull();
    expect(await statuses("failing")).toEqual(["finished"]);
  });

  it("is not failed when it was cancelled", async () => {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    work(async (made) => {
      reached.resolve();
      await gate.promise;
      return made;
    });
    await startExperiment(session(), "cancelled", changed());
    await reached.promise;
    await bench.client.workflow.getHandle(experimentId("cancelled")).cancel();
    gate.resolve();
    expect(await outcome(session(), "cancelled")).not.toBeNull();
    expect(await statuses("cancelled")).toEqual(["climb"]);
  });
});
