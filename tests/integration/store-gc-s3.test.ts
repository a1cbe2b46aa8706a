/** Garbage collection over a bucket: what goes, and that nothing does while a workflow runs or has begun meanwhile. */
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { collectGarbage, type GcOptions } from "../../services/store/gc.ts";
import { type Db, openDatabase, recordedArtifacts } from "../../services/store/index.ts";
import { createS3Artifacts, type S3Artifacts } from "../../services/store/s3-artifacts.ts";
import { s3Inventory } from "../../services/store/s3-inventory.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { startTestS3, type TestS3 } from "../support/s3.ts";

const TWO_HOURS = 2 * 60 * 60 * 1000;
const IDLE = { live: [], sinceMs: null, pinned: new Map<string, string>() };

let postgres: TestPostgres;
let server: TestS3;
let db: Db;
let folder: string;
let store: S3Artifacts;
let made = 0;
beforeAll(async () => {
  [postgres, server] = await Promise.all([startTestPostgres(), startTestS3()]);
  db = await openDatabase(await postgres.createDatabase("gc_s3"));
  folder = await mkdtemp(join(tmpdir(), "tadpole-gc-s3-"));
});
afterAll(async () => {
  await db?.destroy();
  await Promise.all([postgres?.stop(), server?.stop()]);
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  const settings = { ...server.settings, prefix: `gc/${++made}` };
  store = await createS3Artifacts(settings, { cacheFolder: join(folder, `${made}`), cacheBytes: 0 });
});

const collect = (surroundings: GcOptions["surroundings"]) =>
  collectGarbage(db, s3Inventory(store.bucket), {
    dryRun: false,
    keepDays: 7,
    experimentsOlderThanMs: null,
    unrecorded: false,
    surroundings,
  });

/** On record, named by nothing, put two hours ago. */
async function unnamed(text: string) {
  const ref = await recordedArtifacts(store, db).put(Buffer.from(text), "log");
  const then = new Date(Date.now() - TWO_HOURS);
  await utimes(server.file(store.bucket.keyOf(ref.sha256)), then, then);
  return ref;
}

it("what nothing names goes, with its row", async () => {
  const ref = await unnamed("left over");
  const young = await recordedArtifacts(store, db).put(Buffer.from("young"), "log");
  const { removed, waiting } = await collect(async () => IDLE);
  expect([removed.artifacts.items, waiting.items]).toEqual([1, 1]);
  await expect(store.get(ref)).rejects.toMatchObject({ kind: "missing" });
  expect(Buffer.from(await store.get(young)).toString()).toBe("young");
  const rows = await db.selectFrom("artifacts").select("sha256").execute();
  expect(rows.map(({ sha256 }) => sha256)).toEqual([young.sha256]);
});

it("everything waits while a workflow runs", async () => {
  const ref = await unnamed("held by a history");
  const running = async () => ({ ...IDLE, sinceMs: Date.now() });
  const { removed, waiting } = await collect(running);
  expect([removed.artifacts.items, waiting.items]).toEqual([0, 1]);
  expect(Buffer.from(await store.get(ref)).toString()).toBe("held by a history");
});

it("what was taken out comes back where a workflow has begun meanwhile", async () => {
  const ref = await unnamed("put again at that moment");
  let asked = 0;
  const { bucket } = store;
  const { removed } = await collect(async () => {
    // Taken out by now: the last look decides.
    const isOut = (await bucket.head(bucket.removedKeyOf(ref.sha256))) !== null;
    if (isOut) asked++;
    return isOut ? { ...IDLE, live: ["new"], sinceMs: Date.now() } : IDLE;
  });
  expect([asked, removed.artifacts.items]).toEqual([1, 0]);
  expect(await bucket.head(bucket.keyOf(ref.sha256))).not.toBeNull();
  expect(await bucket.head(bucket.removedKeyOf(ref.sha256))).toBeNull();
});
