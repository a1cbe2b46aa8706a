/** A start that came to nothing: what the record says then, and what those who read it are told. */
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { exitCodes } from "../../apps/cli/errors.ts";
import { follow } from "../../apps/cli/watch.ts";
import { experimentsPage, outcome, startExperiment } from "../../apps/control/index.ts";
import {
  createExperiment,
  type Db,
  getExperiment,
  openDatabase,
  setResult,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { testSettings } from "../support/record.ts";
import { startTestTemporal } from "../support/temporal.ts";

const settings = testSettings();
let postgres: TestPostgres;
let db: Db;
let temporal: TestWorkflowEnvironment;
const session = () => ({ db, client: temporal.client, codeVersion: "1" });

beforeAll(async () => {
  [postgres, temporal] = await Promise.all([startTestPostgres(), startTestTemporal()]);
  db = await openDatabase(postgres.url);
});
afterAll(async () => {
  await temporal?.teardown();
  await db?.destroy();
  await postgres?.stop();
});

describe("a start that was cut before its workflow", () => {
  it("is told by the list, unlike one that runs and one that has ended", async () => {
    await createExperiment(db, { name: "cut", settings, codeVersion: "1" });
    await createExperiment(db, { name: "ended", settings, codeVersion: "1" });
    await setResult(db, "ended", "done", {});
    await startExperiment(session(), "runs", settings);
    const { items } = await experimentsPage(session(), { filters: {} });
    expect(items.map(({ name, status, unattended }) => [name, status, unattended])).toEqual([
      ["cut", "running", true],
      ["ended", "done", false],
      ["runs", "running", false],
    ]);
    // Ended in Temporal, where nothing records it.
    await temporal.client.workflow.getHandle("exp/runs").terminate("by hand");
    const [, , ended] = (await experimentsPage(session(), { filters: {} })).items;
    expect(ended).toMatchObject({ name: "runs", unattended: true });
  });

  it("is told as not known while Temporal is away", async () => {
    await createExperiment(db, { name: "cut", settings, codeVersion: "1" });
    const away = {
      withDeadline: (_: number, work: () => Promise<unknown>) => work(),
      workflow: { getHandle: () => ({ describe: () => Promise.reject(new Error("away")) }) },
    };
    const { items } = await experimentsPage({ db, client: away as never }, { filters: {} });
    expect(items.find(({ name }) => name === "cut")).toMatchObject({ unattended: null });
  });

  it("ends those who follow it, with a failure that says so", async () => {
    await createExperiment(db, { name: "cut", settings, codeVersion: "1" });
    const failure = { reason: expect.stringContaining("nothing runs it"), badInput: false };
    expect(await outcome(session(), "cut")).toEqual(failure);
    const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    try {
      expect(await follow(session() as never, "cut", true)).toBe(exitCodes.failed);
      expect(written.mock.calls.flat().join("")).toContain("its start was cut short");
    } finally {
      written.mockRestore();
    }
    expect(await startExperiment(session(), "cut", settings)).toBe("resumed");
  });
});

describe("a start that Temporal did not take", () => {
  const unreachable = new Error("no server\nand more");
  const refusing = () => ({
    ...session(),
    client: { workflow: { start: () => Promise.reject(unreachable) } } as never,
  });

  it("leaves a new experiment as failed, with why", async () => {
    await expect(startExperiment(refusing(), "new", settings)).rejects.toBe(unreachable);
    expect(await getExperiment(db, "new")).toMatchObject({
      status: "failed",
      result: { error: "it could not be started: no server" },
    });
  });

  it("leaves one that had stopped as it was", async () => {
    await createExperiment(db, { name: "old", settings, codeVersion: "1" });
    await setResult(db, "old", "stopped", { error: "by hand" });
    await expect(startExperiment(refusing(), "old", settings)).rejects.toBe(unreachable);
    expect(await getExperiment(db, "old")).toMatchObject({ status: "stopped", result: { error: "by hand" } });
  });
});
