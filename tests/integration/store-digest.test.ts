import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accounting } from "../../services/store/accounting.ts";
import {
  COMPARED_TABLES,
  type ComparedRecord,
  type ComparedTable,
  comparedRecord,
  digestOf,
  recordDifferences,
} from "../../services/store/digest.ts";
import {
  type ArtifactStore,
  type Db,
  recordAmendments,
  recordEvent,
  recordProbe,
  recordStatement,
  recordTask,
  recordTaskSet,
  recordValidation,
} from "../../services/store/index.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";
import { recordTestExperiment, testStatement, testTask } from "../support/record.ts";

const NEVER_COMPARED = [
  "created_at",
  "updated_at",
  "code_version",
  "hold",
  "epoch",
  "model_seconds",
  "tool_seconds",
  "tokens", // what of a prompt a server had in its cache
  "reused_from",
  "verdict_log",
];

let record: TestRecord;
let db: Db;
let artifacts: ArtifactStore;
let before: ComparedRecord;
beforeAll(async () => {
  record = await openTestRecord();
  ({ db, artifacts } = record);
  await recordTestExperiment(db, artifacts, "demo");
  await recordTaskSet(db, { hash: "hash", spec: {}, tasks: [testTask(0).id], lastCandidate: 0 });
  before = await comparedRecord(db, "demo");
}, 60_000);
afterAll(() => record?.close());

class Undone extends Error {}

/** The record as it is after some statements, which are undone again. */
async function after(change: (tx: Db) => Promise<unknown>): Promise<ComparedRecord> {
  let found: ComparedRecord | undefined;
  await db
    .transaction()
    .execute(async (tx) => {
      await change(tx as unknown as Db);
      found = await comparedRecord(tx as unknown as Db, "demo");
      throw new Undone();
    })
    .catch((error) => {
      if (!(error instanceof Undone)) throw error;
    });
  return found!;
}

interface ColumnOf {
  readonly name: string;
  readonly type: string;
}

async function columnsOf(table: string): Promise<ColumnOf[]> {
  const { rows } = await sql<ColumnOf>`
    select column_name as name, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name = ${table} order by 1`.execute(db);
  return rows;
}

/** Another value of the column's type. */
function changed({ name, type }: ColumnOf) {
  const column = sql.ref(name);
  if (type === "json" || type === "jsonb") return sql`${sql.raw(type)}_build_array(${column})`;
  if (type === "boolean") return sql`not ${column}`;
  if (type.startsWith("timestamp")) return sql`now() + interval '1 hour'`;
  if (type === "text") return sql`coalesce(${column}, '') || '~'`;
  return sql`coalesce(${column}, 0) + 100`;
}

/** The first row of each compared table that the digest sees. */
function keyOf(table: ComparedTable): string {
  return [...before[table].keys()][0]!;
}

const KEY_COLUMNS: Readonly<Record<ComparedTable, readonly string[]>> = {
  experiments: ["name"],
  events: ["key"],
  iterations: ["experiment", "iteration", "try"],
  task_sets: ["hash"],
  tasks: ["id"],
  statements: ["task_id", "level"],
  validations: ["scope", "candidate"],
  probes: ["scope", "candidate", "refinement"],
  groups: ["key"],
  rollouts: ["key"],
  batches: ["experiment", "iteration", "try", "update"],
  updates: ["experiment", "iteration", "try", "update"],
  policies: ["id"],
  evaluations: ["key"],
};

async function changeRow(tx: Db, table: ComparedTable, column: ColumnOf): Promise<void> {
  const key = sql.join(
    KEY_COLUMNS[table].map((name) => sql`${sql.ref(name)}::text`),
    sql` || '/' || `,
  );
  const done = await sql`
    update ${sql.table(table)} set ${sql.ref(column.name)} = ${changed(column)} where ${key} = ${keyOf(table)}`.execute(
    tx,
  );
  expect(done.numAffectedRows).toBe(1n);
}

describe("the digest", () => {
  it("holds rows of every table that is compared", () => {
    for (const table of COMPARED_TABLES) expect(before[table].size, table).toBeGreaterThan(0);
  });

  it.each(COMPARED_TABLES)("changes with every compared column of %s, and with no other", async (table) => {
    for (const column of await columnsOf(table)) {
      // Under another name it is another experiment.
      if (table === "experiments" && column.name === "name") continue;
      const now = await after((tx) => changeRow(tx, table, column));
      const differs = digestOf(now).sha256 !== digestOf(before).sha256;
      expect([column.name, differs]).toEqual([column.name, !NEVER_COMPARED.includes(column.name)]);
    }
  });

  it("names table, key, column and both values of what differs", async () => {
    const [key] = [...before.rollouts.keys()];
    const now = await after((tx) =>
      tx.updateTable("rollouts").set({ turns: 99 }).where("key", "=", key!).execute(),
    );
    expect(recordDifferences(before, now, 5)).toEqual([
      { table: "rollouts", key, column: "turns", left: "2", right: "99" },
    ]);
    const less = await after((tx) => tx.deleteFrom("rollouts").where("key", "=", key!).execute());
    expect(recordDifferences(before, less, 5)).toEqual([
      { table: "rollouts", key, column: null, left: "present", right: null },
    ]);
  });

  it("does not see at what pace a candidate's tests ended, but whether they did", async () => {
    const gates = (passed: boolean, evidence: string) => (tx: Db) =>
      recordValidation(tx, {
        ...{ scope: "demo/it/1/try/1", candidate: 0, task_id: testTask(0).id, generator: "mutation" },
        ...{ outcome: "valid", gates: [{ gate: "ends", passed, evidence }] },
      });
    const slow = digestOf(await after(gates(true, "0.31 CPU seconds")));
    expect(digestOf(await after(gates(true, "0.02 CPU seconds")))).toEqual(slow);
    expect(digestOf(await after(gates(false, "0.31 CPU seconds")))).not.toEqual(slow);
  });

  it("sees an amendment, but not under which request it was asked for", async () => {
    const amended = (request: string, value: number) => (tx: Db) =>
      recordAmendments(tx, "demo", [{ request, path: "climb.updates", value, old: 3, fromIteration: 2 }]);
    const first = await after(amended("mine", 4));
    expect(recordDifferences(before, first, 5)).toMatchObject([{ table: "experiments", key: "demo" }]);
    expect(digestOf(await after(amended("yours", 4)))).toEqual(digestOf(first));
    const [difference] = recordDifferences(first, await after(amended("mine", 5)), 5);
    expect(difference).toMatchObject({ table: "experiments", key: "demo", column: "amendments" });
    expect([difference!.left, difference!.right]).toEqual([
      expect.stringContaining('"value":4'),
      expect.stringContaining('"value":5'),
    ]);
  });

  it("sees which phases were entered, but neither holds nor ends", async () => {
    const event = (kind: string, phase: string) => (tx: Db) =>
      recordEvent(tx, {
        ...{ key: `demo/${phase}`, experiment: "demo", kind, detail: { iteration: 0, phase } },
      });
    expect(recordDifferences(before, await after(event("phase", "task sets")), 5)).toEqual([
      { table: "events", key: "demo/task sets", column: null, left: null, right: "present" },
    ]);
    for (const unseen of [event("phase", "stopped"), event("phase", "failed"), event("hold", "climb")])
      expect(digestOf(await after(unseen))).toEqual(digestOf(before));
  });

  it("does not see attempts, nor another experiment", async () => {
    const now = await after(async (tx) => {
      await sql`update attempts set attempt = attempt + 1, fence = fence || '~', status = 'superseded'`.execute(
        tx,
      );
      await sql`insert into experiments (name, seed, settings, settings_hash, status, code_version)
        select 'demo-2', seed, settings, settings_hash, status, code_version from experiments where name = 'demo'`.execute(
        tx,
      );
      await sql`insert into groups (key, experiment, iteration, try, phase, task_id, level, policy, size, passes, mean_reward, zero_variance)
        select 'demo-2/' || key, 'demo-2', iteration, try, phase, task_id, level, policy, size, passes, mean_reward, zero_variance from groups where experiment = 'demo'`.execute(
        tx,
      );
    });
    expect(recordDifferences(before, now, 5)).toEqual([]);
  });
});

describe("surplus", () => {
  const scope = "demo/it/1/try/1";
  /** A candidate that was in flight when the pool was full: validated, probed, admitted, and never read. */
  async function surplus(tx: Db): Promise<void> {
    const task = testTask(7);
    await recordTask(tx, task, { uri: "artifact:x", sha256: "x", bytes: 1, kind: "task" });
    await recordStatement(tx, testStatement(task.id, 1, "add is wrong"));
    await recordValidation(tx, {
      ...{ scope, candidate: 4, task_id: task.id, generator: "mutation", outcome: "valid", gates: [] },
    });
    const key = `${scope}/task/4/probe/0`;
    await sql`insert into groups (key, experiment, iteration, try, phase, task_id, level, policy, size, passes, mean_reward, zero_variance)
      select ${key}, experiment, iteration, try, phase, ${task.id}, level, policy, size, passes, mean_reward, zero_variance
      from groups where phase = 'probe' limit 1`.execute(tx);
    await recordProbe(tx, {
      ...{ scope, candidate: 4, refinement: 0, task_id: task.id, level: 1, policy: "p", passes: 1, runs: 4 },
      ...{ label_key: "label", decision: "admit", group_key: key },
    });
  }
  const read = (tx: Db, last: number) =>
    sql`update iterations set last_candidate = ${last} where experiment = 'demo'`.execute(tx);

  it("beyond the last candidate that was read is left out, down to its task and statement", async () => {
    const without = await after((tx) => read(tx, 3));
    const with_ = await after(async (tx) => {
      await read(tx, 3);
      await surplus(tx);
    });
    expect(recordDifferences(without, with_, 5)).toEqual([]);
    expect(digestOf(with_)).toEqual(digestOf(without));
  });

  it("a candidate that was read counts in every table it reached", async () => {
    const without = await after((tx) => read(tx, 4));
    const counted = await after(async (tx) => {
      await read(tx, 4);
      await surplus(tx);
    });
    const tables = recordDifferences(without, counted, 20).map(({ table }) => table);
    expect(tables).toEqual(["tasks", "statements", "validations", "probes", "groups"]);
  });
});

describe("the books", () => {
  it("count slots, attempts, and nothing lost or duplicated", async () => {
    expect(await accounting(db, "demo")).toEqual({
      ...{ slots: 20, lost: 0, duplicated: 0, attempts: 20, byStatus: { accepted: 20 } },
      ...{ resumed: 0, resumedTurns: 0, startedAnew: 0, notes: {}, failures: {} },
    });
  });

  it("tell lost and duplicated slots, and attempts that went on or began anew", async () => {
    await recordTestExperiment(db, artifacts, "books");
    const [lost, twice] = (
      await db.selectFrom("rollouts").select("key").where("key", "like", "books/%").orderBy("key").execute()
    ).map(({ key }) => key);
    await db.deleteFrom("rollouts").where("key", "=", lost!).execute();
    await sql`insert into attempts (rollout_key, attempt, fence, status) values (${twice!}, 2, 'a second', 'accepted')`.execute(
      db,
    );
    await sql`insert into attempts (rollout_key, attempt, fence, status) values (${lost!}, 2, 'a later', 'running')`.execute(
      db,
    );
    await sql`update attempts set resumed_from = 1, resumed_turns = 3 where rollout_key = ${lost!} and attempt = 2`.execute(
      db,
    );
    expect(await accounting(db, "books")).toMatchObject({
      ...{ slots: 20, lost: 1, duplicated: 1, attempts: 22, byStatus: { accepted: 21, running: 1 } },
      ...{ resumed: 1, resumedTurns: 3, startedAnew: 1 },
    });
  });
});
