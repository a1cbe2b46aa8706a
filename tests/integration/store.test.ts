/** Opening and migrating a real Postgres, rows by key, and failures of the connection. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  connectDatabase,
  createExperiment,
  createLocalArtifacts,
  type Db,
  getExperiment,
  insertOnce,
  openDatabase,
  recordEvent,
  recordedArtifacts,
  recordPolicy,
  setResult,
  setStatus,
  upsert,
} from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { testSettings } from "../support/record.ts";

let record: TestRecord;
let server: TestPostgres;
let db: Db;
beforeAll(async () => {
  record = await openTestRecord();
  ({ server, db } = record);
}, 60_000);
afterAll(() => record?.close());

describe("opening the database", () => {
  it("migrates once when several processes start together", async () => {
    const url = await server.createDatabase("together");
    const all = await Promise.all(Array.from({ length: 4 }, () => openDatabase(url)));
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(all[0]!);
    expect(rows.map((row) => row.name)).toEqual([
      "0001-initial",
      "0002-durability",
      "0003-imports",
      "0004-evidence",
      "0005-verdict-logs",
      "0006-regrade-runs",
      "0007-stopped-probes",
      "0008-frontier",
      "0009-spending",
      "0010-lag",
      "0011-engines",
    ]);
    await Promise.all(all.map((one) => one.destroy()));
  });

  it("refuses a database of a newer version and leaves it as it was", async () => {
    const url = await server.createDatabase("newer");
    const first = await openDatabase(url);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', 'x')`.execute(first);
    await expect(openDatabase(url)).rejects.toMatchObject({
      name: "StoreError",
      kind: "newer-schema",
      message: expect.stringMatching(/newer version of tadpole .*9999-future.*update tadpole/),
    });
    const { rows } = await sql<{ n: number }>`select count(*) as n from kysely_migration`.execute(first);
    expect(rows[0]!.n).toBe(12);
    await first.destroy();
  });

  it.each([
    ["nobody listens", (url: URL) => (url.port = "1")],
    ["the password is wrong", (url: URL) => (url.password = "wrong")],
    ["the database does not exist", (url: URL) => (url.pathname = "/absent")],
  ])("is unreachable when %s", async (_, change) => {
    const url = new URL(server.url);
    change(url);
    const error = await openDatabase(url.href).catch((caught) => caught);
    expect(error).toMatchObject({ name: "StoreError", kind: "unreachable" });
    expect(error.message).toContain(`127.0.0.1:${url.port}`);
    expect(error.message).not.toContain("tadpole:tadpole");
  });

  it("lives on when the server ends its connections", async () => {
    const victim = connectDatabase(server.url, { applicationName: "victim", poolSize: 1 });
    await sql`select 1`.execute(victim);
    const kill = sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`;
    await kill.execute(db);
    const retry = async () => {
      const answer = await sql<{ one: number }>`select 1 as one`.execute(victim).catch((error) => error);
      if (answer instanceof Error) expect(answer).toMatchObject({ kind: "unreachable" });
      return answer;
    };
    await retry();
    expect((await retry()).rows).toEqual([{ one: 1 }]);
    await victim.destroy();
  });

  it("gives up a statement that takes too long", async () => {
    const hasty = connectDatabase(server.url, { statementMs: 50 });
    await expect(sql`select pg_sleep(5)`.execute(hasty)).rejects.toMatchObject({ kind: "timeout" });
    await hasty.destroy();
  });

  it("leaves no connection behind", async () => {
    const guest = connectDatabase(server.url, { applicationName: "guest" });
    await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.01)`.execute(guest)));
    await guest.destroy();
    const left = async () => {
      const { rows } = await sql<{
        n: number;
      }>`select count(*) as n from pg_stat_activity where application_name = 'guest'`.execute(db);
      return rows[0]!.n;
    };
    await expect.poll(left).toBe(0);
  });
});

describe("rows by key", () => {
  const events = (experiment: string) =>
    db.selectFrom("events").selectAll().where("experiment", "=", experiment).execute();

  it("are written again by upsert, and keep their time of creation", async () => {
    const event = { key: "rows/1", experiment: "rows", kind: "note", detail: { text: "a\0b" } };
    await recordEvent(db, event);
    const [first] = await events("rows");
    await recordEvent(db, { ...event, detail: { text: "\ud800" } });
    const [second] = await events("rows");
    expect(first!.detail).toEqual({ text: "a\0b" });
    expect(second!.detail).toEqual({ text: "\ud800" });
    expect(second!.created_at).toEqual(first!.created_at);
  });

  it("are immutable by insertOnce: the same is fine, another is a conflict that names the part", async () => {
    const row = { hash: "abc", spec: { tasks: 3, names: ["x"] }, tasks: ["t1", "t2"] };
    expect(await insertOnce(db, "task_sets", row, ["hash"])).toBe(true);
    const reordered = { ...row, spec: { names: ["x"], tasks: 3 } };
    expect(await insertOnce(db, "task_sets", reordered, ["hash"])).toBe(false);
    await expect(
      insertOnce(db, "task_sets", { ...row, spec: { tasks: 4, names: ["x"] } }, ["hash"]),
    ).rejects.toMatchObject({
      kind: "conflict",
      message: "task_sets abc is already recorded with other content: spec.tasks",
    });
  });

  it("write the same row from many writers at once", async () => {
    const write = (kind: string) =>
      upsert(db, "events", { key: "race", experiment: "race", kind, detail: {} }, ["key"]);
    await Promise.all(Array.from({ length: 16 }, (_, i) => write(`writer ${i}`)));
    expect(await events("race")).toHaveLength(1);
  });

  it("refuse what Postgres text cannot hold", async () => {
    const event = { key: "nul", experiment: "a\0b", kind: "note", detail: {} };
    await expect(recordEvent(db, event)).rejects.toMatchObject({ name: "StoreError", kind: "invalid" });
  });
});

describe("an experiment", () => {
  const one = { name: "one", settings: testSettings({ seed: 7 }), codeVersion: "0.1.0" };

  it("is joined by the same name with the same settings, once, by whoever comes", async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => createExperiment(db, one)));
    expect(all.filter(({ joined }) => !joined)).toHaveLength(1);
    expect(new Set(all.map(({ experiment }) => experiment.created_at.getTime())).size).toBe(1);
  });

  it("is a conflict under the same name with other settings, naming the fields", async () => {
    const other = { ...one, settings: testSettings({ seed: 8, iterations: 99 }) };
    await expect(createExperiment(db, other)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/"one" already exists with other settings: iterations, seed /),
    });
    expect((await getExperiment(db, "one")).seed).toBe(7);
  });

  it("keeps its status with its result", async () => {
    await setStatus(db, "one", "running");
    await setResult(db, "one", "failed", { error: "no task was admitted" });
    expect(await getExperiment(db, "one")).toMatchObject({
      status: "failed",
      result: { error: "no task was admitted" },
    });
    await expect(setStatus(db, "none", "done")).rejects.toMatchObject({ kind: "missing" });
  });
});

describe("a policy", () => {
  const sha256 = "a".repeat(64);
  const policy = {
    id: "nano-aaaaaaaaaaaaaaaa",
    checkpoint: { uri: `artifact:${sha256}`, sha256, bytes: 3, kind: "policy" as const },
    parent: null,
    step: 0,
  };
  it("is its bytes: recorded once, and never with others", async () => {
    await recordPolicy(db, "nano", policy);
    await recordPolicy(db, "nano", { ...policy, parent: "nano-b", step: 4 });
    const other = { ...policy, checkpoint: { ...policy.checkpoint, sha256: "b".repeat(64) } };
    await expect(recordPolicy(db, "nano", other)).rejects.toMatchObject({ kind: "conflict" });
  });
});

describe("recorded artifacts", () => {
  it("have one row, however often they are put", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
    const store = recordedArtifacts(await createLocalArtifacts(folder), db);
    const rows = () => db.selectFrom("artifacts").select(["sha256", "kind", "bytes", "uri"]).execute();
    const ref = await store.put(Buffer.from("batch"), "batch");
    await store.put(Buffer.from("batch"), "batch");
    expect(await rows()).toEqual([ref]);
    expect(Buffer.from(await store.get(ref)).toString()).toBe("batch");
    expect(store.path?.(ref)).toContain(folder);
    await rm(folder, { recursive: true });
  });
});
