/** Garbage collection on a real record and real files: what goes, what never does, beside writers, and through a kill. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, utimesSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ArtifactRef } from "../../core/artifact.ts";
import { folderInventory } from "../../services/store/artifact-folder.ts";
import { comparedRecord, digestOf } from "../../services/store/digest.ts";
import { collectGarbage, type GcOptions, type GcReport } from "../../services/store/gc.ts";
import { JSON_COLUMNS, OWNER } from "../../services/store/gc-names.ts";
import {
  type ArtifactStore,
  collectReport,
  createExperiment,
  createLocalArtifacts,
  type Db,
  holdExperiment,
  openAttempt,
  openDatabase,
  recordEvaluation,
  recordedArtifacts,
  recordPiece,
  recordPolicy,
  recordTaskSet,
  sealRollout,
  setResult,
} from "../../services/store/index.ts";
import { claimRequest } from "../../services/store/requests.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { policyRef, recordTestExperiment, rolloutRow, testSettings, testTask } from "../support/record.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

let server: TestPostgres;
let made = 0;
let url: string;
let db: Db;
let folder: string;
let artifacts: ArtifactStore;
beforeAll(async () => {
  server = await startTestPostgres();
}, 60_000);
afterAll(() => server?.stop());
beforeEach(async () => {
  url = await server.createDatabase(`gc${++made}`);
  db = await openDatabase(url, { poolSize: 8 });
  folder = await mkdtemp(join(tmpdir(), "tadpole-gc-"));
  artifacts = recordedArtifacts(await createLocalArtifacts(folder), db);
});
afterEach(async () => {
  await db.destroy();
  await rm(folder, { recursive: true });
});

const collect = (options: Partial<GcOptions> = {}): Promise<GcReport> =>
  collectGarbage(db, folderInventory(folder), {
    dryRun: false,
    keepDays: 7,
    experimentsOlderThanMs: null,
    unrecorded: false,
    surroundings: async () => ({ live: [], sinceMs: null, pinned: new Map() }),
    ...options,
  });

const fileOf = (ref: { readonly sha256: string }) => artifacts.path!(ref as ArtifactRef);
const isThere = (ref: { readonly sha256: string }) => existsSync(fileOf(ref));

async function ageFiles(hours: number): Promise<void> {
  const then = new Date(Date.now() - hours * HOUR);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), then, then);
}

const TIMED = [...Object.keys(OWNER), "artifacts", "requests"];

/** As if everything on record had happened so many days earlier. */
async function ageRows(days: number): Promise<void> {
  for (const table of TIMED)
    for (const column of ["created_at", "updated_at"]) {
      const { rows } = await sql`select from information_schema.columns
        where table_schema = 'public' and table_name = ${table} and column_name = ${column}`.execute(db);
      if (rows.length > 0)
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sql.ref(column)} - make_interval(days => ${days}::integer)`.execute(
          db,
        );
    }
}

/** An old artifact that nothing names. */
async function oldArtifact(text: string): Promise<ArtifactRef> {
  const ref = await artifacts.put(Buffer.from(text), "log");
  const then = new Date(Date.now() - 2 * HOUR);
  await utimes(fileOf(ref), then, then);
  return ref;
}

/** An accepted rollout of no experiment that names it. */
async function nameIt(group: string, ref: ArtifactRef): Promise<void> {
  const key = `${group}/0`;
  const { fence } = await openAttempt(db, { rolloutKey: key, experiment: "", epoch: 0 });
  await sealRollout(db, fence, rolloutRow(key, { trajectory: ref }));
}

async function finished(name: string): Promise<void> {
  await recordTestExperiment(db, artifacts, name);
  await setResult(db, name, "done", {});
}

async function countRows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of TIMED) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(
      db,
    );
    counts[table] = rows[0]!.count;
  }
  return counts;
}

describe("what rows name", () => {
  it("is known of every JSON column of the schema", async () => {
    const { rows } = await sql<{ name: string }>`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type in ('json', 'jsonb') order by 1`.execute(db);
    expect(Object.keys(JSON_COLUMNS).sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it("is found in every column that can name an artifact, and in no other", async () => {
    await finished("demo");
    await recordTaskSet(db, { hash: "0123456789abcdef", spec: {}, tasks: [], lastCandidate: 0 });
    const scope = { experiment: "demo", iteration: 1, try: 1 };
    await recordPiece(db, scope, { kind: "candidate", contentKey: "k" }, { index: 0 });
    await claimRequest(db, "key", "print");
    await sql`insert into regrades (experiment, regrade, rollout_key, old_outcome, old_rule, outcome, rule, offending, evidence)
      values ('demo', 1, 'demo/x/0', 'passed', 'all-passed', 'passed', 'all-passed', '[]', '{}')`.execute(db);
    await sql`insert into imports (key, format, source_id, hash, image, fail_to_pass, pass_to_pass, gold, origin, artifact)
      values ('i0', 'swe-bench', 'a', '0', 'x', 1, 0, true, '{}', '{}')`.execute(db);
    await sql`insert into ledger (rollout_key, fence, turn, prompt_tokens, sampled_tokens, log_probs, weight_version, new_segment, record)
      values ('demo/x/0', 'f', 0, '', '', '', '', true, '{}')`.execute(db);
    await sql`insert into spend (key, experiment, phase, model, reserved) values ('demo/a', 'demo', 'refine', 'm', '{}')`.execute(
      db,
    );
    await sql`insert into engine_versions (url, state, target, asked, keeper, server)
      values ('http://engine', 'out', 'vllm-x', 1, 'host:/data', '{}')`.execute(db);
    const refs = new Map<string, ArtifactRef>();
    const set = async (name: string, value: unknown) => {
      const [table, column] = name.split(".") as [string, string];
      const changed =
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${JSON.stringify(value)}`.execute(db);
      expect([name, Number(changed.numAffectedRows)]).not.toEqual([name, 0]);
    };
    for (const [name, names] of Object.entries(JSON_COLUMNS)) {
      const ref = await oldArtifact(`named by ${name}`);
      refs.set(name, ref);
      const one = name === "attempts.late_result" ? { trajectory: ref } : ref;
      await set(name, names === "anything" ? { deep: [{ down: ref }] } : one);
    }
    await collect();
    for (const [name, names] of Object.entries(JSON_COLUMNS))
      expect([name, isThere(refs.get(name)!)]).toEqual([name, names !== "nothing"]);
    for (const name of Object.keys(JSON_COLUMNS)) await set(name, {});
    await collect();
    for (const [name, ref] of refs) expect([name, isThere(ref)]).toEqual([name, false]);
  });

  it("is kept through a pinned input: policies, tasks and sets by their ids, and the artifacts of those", async () => {
    await finished("demo");
    const checkpoint = await oldArtifact("weights");
    const parent = await oldArtifact("weights before");
    const policy = { ...policyRef("other"), checkpoint, parent: "nano-before" };
    await recordPolicy(db, "nano", { ...policyRef("before"), id: "nano-before", checkpoint: parent });
    await recordPolicy(db, "nano", policy);
    await recordTaskSet(db, {
      hash: "feedfeedfeedfeed",
      spec: {},
      tasks: [testTask(1).id],
      lastCandidate: 0,
    });
    const pin = (value: object) =>
      db
        .updateTable("iterations")
        .set({ pinned: JSON.stringify(value) })
        .execute();
    await pin({ policy: { id: policy.id }, validation: { hash: "feedfeedfeedfeed" } });
    await ageRows(100);
    await db
      .updateTable("experiments")
      .set({ updated_at: sql`now()` } as never)
      .execute();
    await ageFiles(2);
    const old = { experimentsOlderThanMs: 90 * DAY };
    await collect(old);
    const left = async () => ({
      policies: (await db.selectFrom("policies").select("id").orderBy("id").execute()).map(({ id }) => id),
      sets: (await db.selectFrom("task_sets").select("hash").execute()).map(({ hash }) => hash),
      files: [isThere(checkpoint), isThere(parent)],
    });
    expect(await left()).toMatchObject({ sets: ["feedfeedfeedfeed"], files: [true, true] });
    expect((await left()).policies).toEqual(expect.arrayContaining([policy.id, "nano-before"]));
    await pin({});
    await collect(old);
    expect(await left()).toEqual({
      policies: [policyRef("end").id, policyRef("start").id].sort(),
      sets: [],
      files: [false, false],
    });
  });
});

describe("without an age for experiments", () => {
  it("only leftovers go: the record's digest and its report stay as they are", async () => {
    await finished("demo");
    const garbage = await oldArtifact("garbage");
    await ageFiles(2);
    const before = digestOf(await comparedRecord(db, "demo"));
    const page = JSON.stringify(await collectReport(db, artifacts, "demo"));
    const { removed, missing } = await collect();
    expect(removed.artifacts).toEqual({ items: 1, bytes: "garbage".length });
    expect(isThere(garbage)).toBe(false);
    expect(digestOf(await comparedRecord(db, "demo"))).toEqual(before);
    expect(JSON.stringify(await collectReport(db, artifacts, "demo"))).toBe(page);
    // The checkpoints of this record were never put.
    expect(missing.items).toBe(2);
    expect(missing.first.map(({ namedBy }) => namedBy)).toContain(`policy/${policyRef("start").id}`);
    expect((await collect()).removed.artifacts.items).toBe(0);
  });

  it("a file waits while it is young, and since the oldest experiment that goes on began", async () => {
    const young = await artifacts.put(Buffer.from("young"), "log");
    expect(await collect()).toMatchObject({ waiting: { items: 1 }, removed: { artifacts: { items: 0 } } });
    await ageFiles(2);
    await createExperiment(db, { name: "going", settings: testSettings(), codeVersion: "0" });
    await sql`update experiments set created_at = now() - interval '3 hours'`.execute(db);
    expect(await collect()).toMatchObject({ waiting: { items: 1 }, live: ["going"] });
    await setResult(db, "going", "stopped", {});
    await holdExperiment(db, "going", { kind: "user", reason: "a look" });
    expect(await collect()).toMatchObject({ waiting: { items: 1 }, live: ["going"] });
    await sql`update experiments set hold = null`.execute(db);
    const around = { live: [], sinceMs: Date.now() - 3 * HOUR, pinned: new Map() };
    expect(await collect({ surroundings: async () => around })).toMatchObject({ waiting: { items: 1 } });
    expect(isThere(young)).toBe(true);
    expect(await collect()).toMatchObject({ removed: { artifacts: { items: 1 } } });
  });

  it("a file that this record never had is left, and removed on demand alone", async () => {
    const store = await createLocalArtifacts(folder);
    const stranger = await store.put(Buffer.from("of another database"), "log");
    await ageFiles(2);
    expect(await collect()).toMatchObject({ unrecorded: { items: 1 }, removed: { artifacts: { items: 0 } } });
    expect(isThere(stranger)).toBe(true);
    expect(await collect({ unrecorded: true })).toMatchObject({ removed: { artifacts: { items: 1 } } });
    expect(isThere(stranger)).toBe(false);
  });

  it("turns go of slots that nobody goes on with, and of no others", async () => {
    for (const [name, status] of [
      ["runs", "running"],
      ["broke", "failed"],
      ["ended", "done"],
    ] as const) {
      await createExperiment(db, { name, settings: testSettings(), codeVersion: "0" });
      if (status !== "running") await setResult(db, name, status, {});
    }
    const iteration = (attempt: number, status: string, number = 1) =>
      sql`insert into iterations (experiment, iteration, try, status, start_policy, pinned) values ('runs', ${number}::integer, ${attempt}::integer, ${status}, 'p', '{}')`.execute(
        db,
      );
    await iteration(1, "climb");
    await iteration(2, "climb");
    await iteration(3, "pending");
    await iteration(1, "finished", 2);
    await openAttempt(db, { rolloutKey: "runs/eval/set/sampled/p/t/0", experiment: "runs", epoch: 0 });
    const slots = {
      "runs/it/1/try/1/climb/1/0/0": "a later try began",
      "runs/it/1/try/2/climb/1/0/0": null,
      "runs/it/2/try/1/task/9/probe/0/0": "a surplus candidate of a finished try",
      "runs/eval/set/sampled/p/t/0": null,
      "runs/eval/set/sampled/p/t/1": "accepted",
      "broke/it/1/try/1/climb/1/0/0": null,
      "ended/it/1/try/1/climb/1/0/0": "ended",
      "nobody/it/1/try/1/climb/1/0/0": "of no experiment",
    };
    const turn = (key: string, at = "2 hours") =>
      sql`insert into ledger (rollout_key, fence, turn, prompt_tokens, sampled_tokens, log_probs, weight_version, new_segment, record, created_at)
        values (${key}, ${randomBytes(8).toString("hex")}, 0, '', '', '', '', true, '{}', now() - ${at}::interval)`.execute(
        db,
      );
    for (const key of Object.keys(slots)) await turn(key);
    await turn("ended/it/1/try/1/climb/1/0/1", "1 minute");
    const { fence } = await openAttempt(db, { rolloutKey: "x/0", experiment: "runs", epoch: 0 });
    await sealRollout(db, fence, rolloutRow("x/0", { trajectory: {} }));
    await sql`update rollouts set key = 'runs/eval/set/sampled/p/t/1'`.execute(db);
    const left = [
      ...Object.entries(slots).flatMap(([key, why]) => (why === null ? [key] : [])),
      "ended/it/1/try/1/climb/1/0/1",
    ];
    expect((await collect({ dryRun: true })).removed.turns.items).toBe(5);
    expect((await collect()).removed.turns.items).toBe(5);
    const keys = await db.selectFrom("ledger").select("rollout_key").orderBy("rollout_key").execute();
    expect(keys.map((row) => row.rollout_key)).toEqual(left.sort());
  });

  it("trajectories of superseded attempts and old answers go after the days they are kept", async () => {
    const trajectory = await oldArtifact("late");
    const slot = { rolloutKey: "demo/late/0", experiment: "demo", epoch: 0 };
    const first = await openAttempt(db, slot);
    const second = await openAttempt(db, slot);
    const row = rolloutRow("demo/late/0", { trajectory: {} });
    await sealRollout(db, second.fence, row);
    await sealRollout(db, first.fence, { ...row, trajectory });
    await claimRequest(db, "answered", "print");
    await sql`update attempts set updated_at = now() - interval '8 days'`.execute(db);
    await sql`update requests set created_at = now() - interval '8 days'`.execute(db);
    const gone = { "late results": { items: 1 }, requests: { items: 1 }, artifacts: { items: 1 } };
    const none = { "late results": { items: 0 }, requests: { items: 0 }, artifacts: { items: 0 } };
    expect(await collect({ keepDays: 9 })).toMatchObject({ removed: none });
    expect(await collect({ dryRun: true })).toMatchObject({ removed: gone });
    expect(await collect()).toMatchObject({ removed: gone });
    const late = await db
      .selectFrom("attempts")
      .select("late_result")
      .where("late_result", "is not", null)
      .execute();
    expect(late).toHaveLength(1);
    expect(late[0]!.late_result).toMatchObject({ exit: "agent", turns: 2 });
    expect(late[0]!.late_result).not.toHaveProperty("trajectory");
  });
});

describe("with an age for experiments", () => {
  const old = { experimentsOlderThanMs: 90 * DAY };

  it("all rows and files of an old one go, and a younger one that shares its tasks stays whole", async () => {
    await finished("old");
    await ageRows(100);
    const empty = await countRows();
    await finished("young");
    // Each of the two has trajectories of its own.
    await ageFiles(2);
    const before = digestOf(await comparedRecord(db, "young"));
    const page = JSON.stringify(await collectReport(db, artifacts, "young"));
    const wanted = await collect({ ...old, dryRun: true });
    expect(wanted.experiments.map(({ name }) => name)).toEqual(["old"]);
    const { removed } = await collect(old);
    expect(removed).toEqual(wanted.removed);
    const own = [
      "iterations",
      "groups",
      "rollouts",
      "batches",
      "updates",
      "evaluations",
      "events",
      "validations",
      "probes",
    ];
    const after = await countRows();
    for (const table of own) expect([table, after[table]]).toEqual([table, empty[table]]);
    expect(digestOf(await comparedRecord(db, "young"))).toEqual(before);
    expect(JSON.stringify(await collectReport(db, artifacts, "young"))).toBe(page);
    await ageRows(100);
    await collect(old);
    const nothing = await countRows();
    expect({ ...nothing, environments: 0 }).toEqual(
      Object.fromEntries(Object.keys({ ...nothing, environments: 0 }).map((table) => [table, 0])),
    );
    expect(
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()),
    ).toEqual([]);
  });

  it("one that runs, is held, is worked on, scheduled or needed by another stays", async () => {
    for (const name of ["runs", "held", "worked", "scheduled", "needed", "gone"]) await finished(name);
    // What an experiment made itself it needs nobody for: the policy gets other makers.
    await sql`delete from updates where experiment <> 'needed'`.execute(db);
    await sql`update iterations set end_policy = null where experiment <> 'needed'`.execute(db);
    await sql`delete from evaluations where experiment <> 'needed'`.execute(db);
    await sql`update experiments set status = 'running' where name = 'runs'`.execute(db);
    await holdExperiment(db, "held", { kind: "user", reason: "a look" });
    await ageRows(100);
    await createExperiment(db, { name: "measures", settings: testSettings(), codeVersion: "0" });
    await setResult(db, "measures", "done", {});
    await recordEvaluation(db, {
      ...{
        key: "m",
        experiment: "measures",
        iteration: 0,
        policy: policyRef("end").id,
        set_name: "unseen",
        set_hash: "h",
      },
      ...{ mode: "sampled", tasks: 1, samples: 1, pass_at_1: 1, low: 1, high: 1, results: [] },
    });
    const around = {
      live: ["worked"],
      sinceMs: null,
      pinned: new Map([["scheduled", "schedule nightly measures it"]]),
    };
    const report = await collect({ ...old, surroundings: async () => around });
    expect(report.experiments.map(({ name }) => name)).toEqual(["gone"]);
    expect(report.live).toEqual(["runs", "held", "worked"]);
    expect(report.needed).toEqual([
      { name: "scheduled", because: "schedule nightly measures it" },
      { name: "needed", because: "a policy of it is used by measures" },
    ]);
    const names = await db.selectFrom("experiments").select("name").orderBy("name").execute();
    expect(names.map(({ name }) => name)).toEqual([
      "held",
      "measures",
      "needed",
      "runs",
      "scheduled",
      "worked",
    ]);
  });

  it("what experiments share stays while any goes on", async () => {
    await finished("old");
    await ageRows(100);
    await createExperiment(db, { name: "going", settings: testSettings(), codeVersion: "0" });
    expect(await collect(old)).toMatchObject({
      experiments: [{ name: "old" }],
      removed: { tasks: { items: 0 } },
    });
    expect((await countRows()).tasks).toBe(3);
    await setResult(db, "going", "done", {});
    expect(await collect(old)).toMatchObject({ removed: { tasks: { items: 3 }, policies: { items: 2 } } });
    expect(await countRows()).toMatchObject({ tasks: 0, statements: 0, policies: 0 });
  });
});

describe("beside others", () => {
  it("a dry run changes nothing", async () => {
    await finished("old");
    await oldArtifact("garbage");
    await ageRows(100);
    await ageFiles(2);
    const before = [await countRows(), (await readdir(folder, { recursive: true })).sort()];
    const { removed } = await collect({ dryRun: true, experimentsOlderThanMs: DAY });
    expect(removed.experiments.items).toBeGreaterThan(0);
    expect([await countRows(), (await readdir(folder, { recursive: true })).sort()]).toEqual(before);
  });

  it("a second collection is refused while one is at work", async () => {
    let second: Promise<GcReport> | undefined;
    const around = async () => {
      second ??= collect();
      await second.catch(() => undefined);
      return { live: [], sinceMs: null, pinned: new Map<string, string>() };
    };
    await collect({ surroundings: around });
    await expect(second).rejects.toMatchObject({ name: "GcError", kind: "busy" });
  });

  it("what is put or named again in the middle of one stays, and keeps its row", async () => {
    const [before, after, named, left] = await Promise.all(
      ["put before it is taken out", "put after", "named after, without a put", "left alone"].map(
        oldArtifact,
      ),
    );
    let calls = 0;
    const around = async () => {
      calls++;
      // The fourth look is for the choice of files, the fifth comes once they are taken out.
      if (calls === 5) {
        expect((await readdir(join(folder, "removing"))).sort()).toEqual(
          [after!, named!, left!].map(({ sha256 }) => sha256).sort(),
        );
        await artifacts.put(Buffer.from("put after"), "log");
        await nameIt("n/0/0", named!);
      }
      return { live: [], sinceMs: null, pinned: new Map<string, string>() };
    };
    const onProgress = ({ phase }: { readonly phase: string }) => {
      if (phase === "take out") utimesSync(fileOf(before!), new Date(), new Date());
    };
    const { removed } = await collect({ surroundings: around, onProgress });
    expect(calls).toBe(5);
    expect([before, after, named, left].map((ref) => isThere(ref!))).toEqual([true, true, true, false]);
    const rows = await db.selectFrom("artifacts").select("sha256").execute();
    expect(rows.map(({ sha256 }) => sha256).sort()).toEqual(
      [before, after, named].map((ref) => ref!.sha256).sort(),
    );
    expect(removed.artifacts.items).toBe(2);
    expect(await readdir(join(folder, "removing"))).toEqual([]);
  });

  it("nothing is lost that is put again and recorded while one collection follows another", async () => {
    const contents = Array.from({ length: 40 }, (_, index) => Buffer.from(`artifact ${index}`));
    const then = new Date(Date.now() - 2 * HOUR);
    // Whatever the others' pace, there is something to collect.
    await utimes(fileOf(await artifacts.put(Buffer.from("never named"), "log")), then, then);
    const named: ArtifactRef[] = [];
    const writer = async (of: number) => {
      for (const [index, bytes] of contents.entries()) {
        if (index % 4 !== of) continue;
        // Old and unnamed: a collection may take it at any moment from here on.
        const ref = await artifacts.put(bytes, "log");
        await utimes(fileOf(ref), then, then);
        await sleep((index % 7) * 50);
        await artifacts.put(bytes, "log");
        await sleep((index % 5) * 20);
        await nameIt(`w/${of}/${index}`, ref);
        named.push(ref);
      }
    };
    let writing = true;
    const written = Promise.all([0, 1, 2, 3].map(writer)).finally(() => {
      writing = false;
    });
    let removed = 0;
    do removed += (await collect()).removed.artifacts.items;
    while (writing);
    await written;
    expect(named).toHaveLength(contents.length);
    for (const ref of named) expect((await artifacts.get(ref)).byteLength).toBe(ref.bytes);
    expect(await readdir(join(folder, "removing")).catch(() => [])).toEqual([]);
    expect(removed).toBeGreaterThan(0);
  }, 60_000);

  it("one that is killed anywhere leaves a record and files that the next one finishes", async () => {
    const entry = new URL("./store-gc-killed.ts", import.meta.url).pathname;
    await finished("young");
    const before = digestOf(await comparedRecord(db, "young"));
    const page = JSON.stringify(await collectReport(db, artifacts, "young"));
    let kills = 0;
    for (let at = 1; ; at++) {
      await createExperiment(db, { name: "old", settings: testSettings(), codeVersion: "0" });
      await setResult(db, "old", "done", {});
      await nameIt("old/it/1/try/1/climb/9/0", await oldArtifact(`of the old one ${at}`));
      await sql`update experiments set updated_at = now() - interval '100 days' where name = 'old'`.execute(
        db,
      );
      for (let index = 0; index < 20; index++) await oldArtifact(`garbage ${index}`);
      const killed = spawnSync(process.execPath, [entry, url, folder, String(at)], { encoding: "utf8" });
      expect(killed.stderr).toBe("");
      expect(JSON.stringify(await collectReport(db, artifacts, "young"))).toBe(page);
      const { removed, missing, unrecorded } = await collect({ experimentsOlderThanMs: DAY });
      if (killed.signal === null) {
        expect(removed.artifacts.items).toBe(0);
        break;
      }
      kills++;
      expect(removed.artifacts.items).toBe(20 + 1);
      // Checkpoints were never put; nothing else is missing, nothing is left over.
      expect([missing.items, unrecorded.items]).toEqual([2, 0]);
      expect(await readdir(join(folder, "removing"))).toEqual([]);
      expect(await db.selectFrom("experiments").select("name").execute()).toEqual([{ name: "young" }]);
      expect(await countRows()).toMatchObject({ rollouts: 20, attempts: 20 });
      expect(digestOf(await comparedRecord(db, "young"))).toEqual(before);
    }
    // Before rows, at the experiment, while files are taken out, while they are removed.
    expect(kills).toBe(4);
  }, 120_000);
});
