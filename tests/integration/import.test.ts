/** Imports on a real record: once, again, edited, partly bad; and what the command line says of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApi } from "../../apps/api/server.ts";
import { importsPage, importTasks, removeImported, showImport } from "../../apps/control/index.ts";
import type { Task } from "../../core/task.ts";
import { putJson, recordStatement, recordTask, recordTaskSet } from "../../services/store/index.ts";
import { type Cli, openCli } from "../support/cli.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";

let record: TestRecord;
let folder: string;
let cli: Cli;
beforeAll(async () => {
  record = await openTestRecord();
  folder = mkdtempSync(join(tmpdir(), "tadpole-imports-"));
  cli = openCli();
}, 60_000);
afterAll(async () => {
  await record?.close();
  await cli?.close();
  rmSync(folder, { recursive: true, force: true });
});

const row = (id: number, change: object = {}) => ({
  instance_id: `psf__requests-${id}`,
  repo: "psf/requests",
  patch: `--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-${id}\n+0\n`,
  test_patch: "--- a/test_x.py\n+++ b/test_x.py\n@@ -1 +1 @@\n-a\n+b\n",
  problem_statement: `Number ${id} is wrong`,
  FAIL_TO_PASS: ["test_x.py::test"],
  PASS_TO_PASS: [],
  ...change,
});

function file(name: string, lines: readonly (object | string | Uint8Array)[]): string {
  const path = join(folder, name);
  const bytes = lines.flatMap((line) => [
    line instanceof Uint8Array ? line : Buffer.from(typeof line === "string" ? line : JSON.stringify(line)),
    Buffer.from("\n"),
  ]);
  writeFileSync(path, Buffer.concat(bytes));
  return path;
}

const run = (path: string, dry = false) => importTasks(dry ? null : record, { format: "swe-bench", path });
const counts = ({ new: added, changed, unchanged, refused }: Awaited<ReturnType<typeof run>>) => ({
  added,
  changed,
  unchanged,
  refused,
});
const rowsOnRecord = async () => {
  const { rows } = await sql`select * from imports order by key`.execute(record.db);
  return rows;
};

describe("an import", () => {
  it("takes the good rows, and names the bad ones with file, line and field", async () => {
    const invalid = Buffer.concat([Buffer.from('{"instance_id":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const escaping = { patch: "--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n" };
    const path = file("mixed.jsonl", [row(1), row(2, { patch: 7 }), invalid, row(3, escaping), "{", row(4)]);
    const report = await run(path);
    expect(counts(report)).toEqual({ added: 2, changed: 0, unchanged: 0, refused: 4 });
    expect(report.refusals.map(({ line, field }) => [line, field])).toEqual([
      [2, "patch"],
      [3, null],
      [4, "patch"],
      [5, null],
    ]);
    for (const { message } of report.refusals) expect(message).toContain(path);
    expect(await rowsOnRecord()).toHaveLength(2);
  });

  it("changes nothing when it is done again, also from another file in another order", async () => {
    const before = await rowsOnRecord();
    const report = await run(file("again.json", [[row(4), row(1)]]));
    expect(counts(report)).toEqual({ added: 0, changed: 0, unchanged: 2, refused: 0 });
    expect(await rowsOnRecord()).toEqual(before);
  });

  it("keeps an edited row beside the one before", async () => {
    const report = await run(file("edited.jsonl", [row(1, { problem_statement: "Another text" })]));
    expect(counts(report)).toEqual({ added: 0, changed: 1, unchanged: 0, refused: 0 });
    const { items } = await importsPage(record, { filters: { format: "swe-bench" } });
    expect(items.map(({ source_id }) => source_id).sort()).toEqual([
      "psf__requests-1",
      "psf__requests-1",
      "psf__requests-4",
    ]);
  });

  it("gives back what was read", async () => {
    const { items } = await importsPage(record, { filters: {} });
    const { key } = items.find(({ source_id }) => source_id === "psf__requests-4")!;
    const { row: found, task } = await showImport(record, key);
    expect(found).toMatchObject({
      format: "swe-bench",
      fail_to_pass: 1,
      gold: true,
      origin: { line: 6, row: 6 },
    });
    expect(task).toMatchObject({ statement: { text: "Number 4 is wrong" }, gold: { text: row(4).patch } });
    await expect(showImport(record, "i0000000000000000")).rejects.toMatchObject({ kind: "missing" });
  });

  it("records nothing when it only looks", async () => {
    const before = await rowsOnRecord();
    const report = await run(file("dry.jsonl", [row(9), row(10, { repo: null })]), true);
    expect(report).toMatchObject({ dryRun: true, read: 1, refused: 1 });
    expect(await rowsOnRecord()).toEqual(before);
  });
});

describe("a removal", () => {
  let requests = 0;
  const stored = () =>
    putJson(record.artifacts, { id: "made" }, "task").then((artifact) =>
      recordTask(record.db, made("import"), artifact),
    );
  const made = (generator: Task["generator"]): Task => ({
    id: generator === "import" ? "t0123456789abcdef" : "t00000000000000ff",
    environment: "e",
    type: "bug",
    generator,
    base: [],
    gold: [],
    hiddenFiles: [],
    failToPass: ["t"],
    passToPass: [],
    functions: [],
    facts: { sites: [], reproduction: null },
  });
  const tables = async () => {
    const { rows } = await sql`select
      (select count(*) from imports) as imports, (select count(*) from tasks) as tasks,
      (select count(*) from statements) as statements`.execute(record.db);
    return rows[0];
  };

  it("takes an import away, which can then be made again", async () => {
    const path = file("removed.jsonl", [row(20)]);
    await run(path);
    const { items } = await importsPage(record, { filters: {} });
    const { key } = items.find(({ source_id }) => source_id === "psf__requests-20")!;
    expect(await removeImported(record, key)).toEqual({ removed: key, kind: "import" });
    await expect(removeImported(record, key)).rejects.toMatchObject({ kind: "missing" });
    expect(counts(await run(path))).toMatchObject({ added: 1, changed: 0 });
  });

  it("is one request of the API, which says what is not there and what is none of its keys", async () => {
    await run(file("over-http.jsonl", [row(21)]));
    const { items } = await importsPage(record, { filters: {} });
    const { key } = items.find(({ source_id }) => source_id === "psf__requests-21")!;
    const options = { tokens: [], requestsPerMinute: 1000, streamSeconds: 1, version: "0", log: null };
    const api = await createApi({ ...record, client: {} as never }, options);
    try {
      const remove = async (name: string) => {
        const headers = { "idempotency-key": `remove-${name}-${++requests}` };
        const answer = await api.inject({ method: "DELETE", url: `/v1/imports/${name}`, headers });
        return [answer.statusCode, answer.json()] as const;
      };
      expect(await remove(key)).toEqual([200, { removed: key, kind: "import" }]);
      expect(await remove(key)).toMatchObject([404, { kind: "missing" }]);
      expect((await remove("x1"))[0]).toBe(400);
    } finally {
      await api.close();
    }
  });

  it("takes a task with its statement, but none that something uses, and none that was made here", async () => {
    await stored();
    const { id } = made("import");
    await recordStatement(record.db, { taskId: id, level: 0, text: "Do it", hash: "0".repeat(64) });
    const whole = await tables();
    await recordTaskSet(record.db, { hash: "b".repeat(64), spec: {}, tasks: [id], lastCandidate: 0 });
    await expect(removeImported(record, id)).rejects.toMatchObject({
      kind: "conflict",
      message: `task ${id} is used by set ${"b".repeat(64)}`,
    });
    expect(await tables()).toEqual(whole);
    await sql`delete from task_sets`.execute(record.db);
    expect(await removeImported(record, id)).toEqual({ removed: id, kind: "task" });
    expect(await tables()).toMatchObject({ tasks: 0, statements: 0 });

    const own = made("mutation");
    await recordTask(record.db, own, await putJson(record.artifacts, own, "task"));
    await expect(removeImported(record, own.id)).rejects.toMatchObject({ kind: "conflict" });
    expect(await tables()).toMatchObject({ tasks: 1 });
  });
});

describe("the command", () => {
  const dry = (format: string, path: string, ...more: string[]) =>
    cli.run(["import", format, path, "--dry-run", ...more]);

  it("ends with 0 where all went in, with 1 where a row was refused", async () => {
    const good = await dry("swe-bench", file("good.jsonl", [row(1), row(2)]));
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(/2 tasks can be imported, 0 refused; nothing was recorded\n$/),
    ]);
    const bad = await dry("swe-bench", file("bad.jsonl", [row(1), row(2, { patch: "" })]));
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(
      /^refused: .*bad\.jsonl, line 2, field patch: expected text that is not empty, found the text ""\n/,
    );
    const json = await dry("swe-bench", join(folder, "bad.jsonl"), "--json");
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      1,
      expect.objectContaining({ read: 1, refused: 1 }),
    ]);
  });

  it("stops at a limit", async () => {
    const { stdout } = await dry("swe-bench", file("many.jsonl", [row(1), row(2), row(3)]), "--limit", "2");
    expect(stdout).toContain("2 tasks can be imported");
    expect(stdout).toContain("note on 2 tasks (psf__requests-1 is the first): the row names no image");
  });

  it("names the one task that a note is on", async () => {
    const { stdout } = await dry("swe-bench", file("one.jsonl", [row(1)]));
    expect(stdout).toContain("note on psf__requests-1: the row names no image");
  });

  it("says which folder of Harbor tasks has none", async () => {
    mkdirSync(join(folder, "empty"), { recursive: true });
    const { code, stdout } = await dry("harbor", join(folder, "empty"));
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining("expected a task.toml, or folders that have one, found none"),
    ]);
  });

  it.each([
    [["import", "swe-bench", "/nowhere.jsonl"], "no file or folder /nowhere.jsonl"],
    [["import", "other", "/tmp"], "expected one of swe-bench, swe-smith, swe-rebench, r2e-gym, harbor"],
    [["import", "swe-bench", "/tmp", "--limit", "0"], "expected a whole number from 1 on"],
    [["import", "swe-bench", "/tmp", "--report", "junit"], "give --test, too"],
    [["imports", "list", "--format", "x"], 'format "x": expected one of swe-bench,'],
  ])("%j is bad input", async (args, message) => {
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
