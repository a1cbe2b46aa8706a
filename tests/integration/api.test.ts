/** The HTTP API on a real database and a real Temporal server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestWorkflowEnvironment } from "@temporalio/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApi } from "../../apps/api/server.ts";
import { readToken } from "../../apps/api/tokens.ts";
import type { Api } from "../../apps/api/types.ts";
import {
  type ArtifactStore,
  createLocalArtifacts,
  type Db,
  openDatabase,
} from "../../services/store/index.ts";
import { startTestPostgres, type TestPostgres } from "../support/postgres.ts";
import { recordTestExperiment } from "../support/record.ts";
import { startTestTemporal } from "../support/temporal.ts";

let postgres: TestPostgres;
let db: Db;
let artifacts: ArtifactStore;
let temporal: TestWorkflowEnvironment;
let folder: string;
let api: Api;
let guarded: Api;

const environment = {
  READ: "read-token-0123456789",
  WRITE: "write-token-0123456789;expires=2999-01-01T00:00:00Z",
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tadpole-api-"));
  postgres = await startTestPostgres();
  db = await openDatabase(postgres.url);
  artifacts = await createLocalArtifacts(join(folder, "artifacts"));
  temporal = await startTestTemporal();
  await recordTestExperiment(db, artifacts, "done-1");
  const session = { db, artifacts, client: temporal.client };
  const options = { requestsPerMinute: 100_000, streamSeconds: 2, version: "0.0.0", log: null };
  api = await createApi(session, { ...options, tokens: [] });
  const tokens = [
    readToken("READ", ["read"], environment),
    readToken("WRITE", ["read", "write"], environment),
  ];
  guarded = await createApi(session, { ...options, tokens });
});

afterAll(async () => {
  await api?.close();
  await guarded?.close();
  await temporal?.teardown();
  await db?.destroy();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

let keys = 0;
const post = (url: string, payload: object, key = `key-${keys++}`) =>
  api.inject({ method: "POST", url, payload, headers: { "idempotency-key": key } });
const get = (url: string, headers: Record<string, string> = {}) =>
  api.inject({ method: "GET", url, headers });

describe("lists", () => {
  it("come in pages that together are the whole, once each", async () => {
    const seen: string[] = [];
    let cursor = "";
    do {
      const answer = (await get(`/v1/rollouts?experiment=done-1&limit=3${cursor}`)).json();
      seen.push(...answer.items.map(({ key }: { key: string }) => key));
      cursor = answer.next === null ? "" : `&cursor=${answer.next}`;
    } while (cursor !== "");
    const rows = await db.selectFrom("rollouts").select("key").orderBy("key").execute();
    expect(seen).toEqual(rows.map(({ key }) => key));
    expect(seen.length).toBeGreaterThan(3);
  });

  it("are filtered", async () => {
    const { items } = (await get("/v1/rollouts?phase=climb&outcome=passed&environment=minimist")).json();
    expect(items).toHaveLength(4);
    expect((await get("/v1/tasks?experiment=done-1&type=feature")).json().items).toHaveLength(1);
    expect((await get("/v1/evaluations?mode=greedy&iteration=1")).json().items).toHaveLength(2);
  });

  it.each(["/v1/tasks?cursor=AAAA", "/v1/tasks?limit=201", "/v1/tasks?limt=2", "/v1/tasks?iteration="])(
    "refuse %s, naming the field",
    async (url) => {
      const answer = await get(url);
      expect(answer.statusCode).toBe(400);
      expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
      expect(answer.json().field).toMatch(/^(cursor|limit|limt|iteration)$/);
    },
  );

  it("refuse a cursor of other filters", async () => {
    const { next } = (await get("/v1/rollouts?limit=1")).json();
    expect((await get(`/v1/rollouts?limit=1&cursor=${next}`)).statusCode).toBe(200);
    expect((await get(`/v1/rollouts?limit=1&phase=climb&cursor=${next}`)).statusCode).toBe(422);
  });
});

describe("starting", () => {
  const start = { experiment: "quickstart", name: "started-1", seed: 5 };

  it("starts a workflow, and gives the same answer to the same key", async () => {
    const first = await post("/v1/experiments", start, "start");
    expect(first.statusCode, first.body).toBe(201);
    const { status } = await temporal.client.workflow.getHandle("exp/started-1").describe();
    expect(status.name).toBe("RUNNING");
    const again = await post("/v1/experiments", start, "start");
    expect([again.statusCode, again.json()]).toEqual([201, first.json()]);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect((await post("/v1/experiments", { ...start, seed: 6 }, "start")).statusCode).toBe(422);
    expect((await post("/v1/experiments", start)).statusCode).toBe(409);
    expect((await post("/v1/experiments", { ...start, seed: 6 })).statusCode).toBe(409);
  });

  it("is done again when its process died in the middle, not before", async () => {
    await post("/v1/experiments", start, "died");
    await db.updateTable("requests").set({ status: null }).where("key", "=", "died").execute();
    const early = await post("/v1/experiments", start, "died");
    expect([early.statusCode, early.headers["retry-after"]]).toEqual([409, "5"]);
    await db
      .updateTable("requests")
      .set({ created_at: new Date(0) } as never)
      .where("key", "=", "died")
      .execute();
    expect((await post("/v1/experiments", start, "died")).statusCode).toBe(201);
  });

  it.each([
    ["broken YAML", { experiment: "policy: {kind: nano", name: "x" }, 422],
    ["an unknown setting", { experiment: { policy: { kind: "nano" }, itrations: 2 }, name: "x" }, 422],
    ["a path", { experiment: "/etc/passwd", name: "x" }, 422],
    ["endless nesting", { experiment: "[".repeat(100_000), name: "x" }, 422],
    ["a name that is a path", { experiment: "quickstart", name: "../x" }, 400],
    ["a secret", { experiment: "quickstart", set: ["policy.apiKeyEnv=PATH"], name: "x" }, 422],
  ])("refuses %s", async (_, body, status) => {
    const answer = await post("/v1/experiments", body);
    expect(answer.statusCode, answer.body).toBe(status);
    expect(answer.body).not.toMatch(/\.ts:|node_modules|\n *at /);
    expect((await get("/v1/experiments/x")).statusCode).toBe(404);
  });

  const AUTHOR = "baseUrl: http://127.0.0.1:9/v1, model: m";
  it.each([
    ["policy.apiKeyEnv", "PATH", "policy.apiKeyEnv=PATH"],
    ["synthesis.author.apiKeyEnv", "PATH", `synthesis.author={ ${AUTHOR}, apiKeyEnv: PATH }`],
    ["synthesis.gates.decontaminate", "/etc/passwd", "synthesis.gates.decontaminate=[/etc/passwd]"],
  ])("names %s where a request brings a secret or a file", async (field, found, assignment) => {
    const work = { experiment: "quickstart", set: [assignment] };
    const answers = [
      await post("/v1/experiments", { ...work, name: "x" }),
      await post("/v1/schedules", { name: "x", cron: "0 3 * * *", work: { kind: "run", ...work } }),
      await post("/v1/experiments/done-1/iterations/1/replay", { dryRun: true, with: [assignment] }),
    ];
    for (const answer of answers) {
      expect(answer.statusCode, answer.body).toBe(422);
      expect(answer.json()).toMatchObject({ field });
      expect(answer.json().detail).toContain(`over HTTP`);
      expect(answer.json().detail).toContain(found);
    }
  });

  it("lets a replay bring the key of an author", async () => {
    const assignment = `synthesis.author={ ${AUTHOR}, apiKeyEnv: AUTHOR_KEY }`;
    const answer = await post("/v1/experiments/done-1/iterations/1/replay", {
      dryRun: true,
      with: [assignment],
    });
    expect(answer.statusCode, answer.body).toBe(200);
  });

  it.each([
    ["objects", `{"experiment":${'{"a":'.repeat(50_000)}1${"}".repeat(50_001)}`],
    ["lists", `{"experiment":{"seed":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`],
  ])("refuses endless %s", async (_, payload) => {
    const headers = { "idempotency-key": "endless", "content-type": "application/json" };
    const answer = await api.inject({ method: "POST", url: "/v1/experiments", payload, headers });
    expect(answer.json()).toMatchObject({ status: 400, kind: "request", field: "body" });
  });

  it("needs a key", async () => {
    const answer = await api.inject({ method: "POST", url: "/v1/experiments", payload: start });
    expect([answer.statusCode, answer.json().field]).toEqual([400, "idempotency-key"]);
  });
});

describe("one experiment", () => {
  it("streams its events, and goes on after the last that was seen", async () => {
    const all = await get("/v1/experiments/done-1/events");
    const ids = [...all.body.matchAll(/^id: (.*)$/gm)].map((match) => match[1]!);
    expect(ids).toHaveLength(5);
    expect(all.body).toMatch(/event: end\n/);
    const rest = await get("/v1/experiments/done-1/events", { "last-event-id": ids[2]! });
    expect([...rest.body.matchAll(/^id: (.*)$/gm)].map((match) => match[1])).toEqual(ids.slice(3));
    expect((await get("/v1/experiments/done-1/events", { "last-event-id": "AAAA" })).statusCode).toBe(400);
  });

  it("tells what it cost, by what it is asked for", async () => {
    const cost = (await get("/v1/experiments/done-1/cost?by=iteration")).json();
    expect(cost).toMatchObject({ experiment: "done-1", by: "iteration", perAdmitted: { count: 2 } });
    expect(cost.groups).toMatchObject([{ of: 1, rollouts: cost.total.rollouts }]);
    expect((await get("/v1/experiments/done-1/cost")).json()).toMatchObject({
      by: "phase",
      total: cost.total,
    });
    expect((await get("/v1/experiments/done-1/cost?by=colour")).json()).toMatchObject({
      status: 400,
      field: "by",
    });
    expect((await get("/v1/experiments/none/cost")).statusCode).toBe(404);
  });

  it("answers 409 to steering once it has ended, 404 where there is none", async () => {
    expect((await get("/v1/experiments/done-1/state")).json().status).toBe("ended");
    expect((await post("/v1/experiments/done-1/pause", {})).statusCode).toBe(409);
    expect((await post("/v1/experiments/none/stop", {})).statusCode).toBe(404);
    const skip = "/v1/experiments/done-1/skip";
    const bare = { method: "POST", url: skip, headers: { "idempotency-key": "bare" } } as const;
    expect((await api.inject(bare)).statusCode).toBe(409);
    expect((await post(skip, { phase: "climb" })).statusCode).toBe(409);
    expect((await post(skip, { phase: "preparation" })).json()).toMatchObject({
      status: 400,
      field: "phase",
    });
    expect((await post("/v1/experiments/done-1/iterations/9/replay", { dryRun: true })).statusCode).toBe(404);
  });
});

describe("replays at once", () => {
  it("use no second connection while they hold one, and are refused where there is nothing to replay", async () => {
    const narrow = await openDatabase(postgres.url, { poolSize: 2, connectMs: 3000 });
    const session = { db: narrow, artifacts, client: temporal.client };
    const options = { requestsPerMinute: 100_000, streamSeconds: 2, version: "0.0.0", log: null };
    const busy = await createApi(session, { ...options, tokens: [] });
    try {
      const names = ["one", "two", "three", "four"].map((name) => `replayed-${name}`);
      for (const name of names) await recordTestExperiment(db, artifacts, name);
      const replay = async (name: string) =>
        (
          await busy.inject({
            method: "POST",
            url: `/v1/experiments/${name}/iterations/9/replay`,
            payload: {},
            headers: { "idempotency-key": `at-once-${name}` },
          })
        ).json();
      for (const problem of await Promise.all(names.map(replay)))
        expect(problem).toMatchObject({ status: 404, detail: expect.stringContaining("no iteration 9") });
      for (const problem of await Promise.all(["a", "b", "c", "d"].map((name) => replay(`none-${name}`))))
        expect(problem).toMatchObject({ status: 404, detail: expect.stringContaining("no experiment") });
    } finally {
      await busy.close();
      await narrow.destroy();
    }
  });
});

describe("requests", () => {
  it("need a token with the scope", async () => {
    const status = async (url: string, token: string | null, method: "GET" | "POST" = "GET") =>
      (
        await guarded.inject({
          method,
          url,
          headers: {
            ...(token === null ? {} : { authorization: `Bearer ${token}` }),
            ...(method === "POST" ? { "idempotency-key": "k" } : {}),
          },
        })
      ).statusCode;
    const stop = "/v1/experiments/none/stop";
    expect(await status("/v1/tasks", null)).toBe(401);
    expect(await status("/v1/tasks", "read-token-0123456780")).toBe(401);
    expect(await status("/v1/tasks", "read-token-0123456789")).toBe(200);
    expect(await status(stop, "read-token-0123456789", "POST")).toBe(403);
    expect(await status(stop, "write-token-0123456789", "POST")).toBe(404);
    expect(await status("/v1/health", null)).toBe(200);
  });

  it("of another site are refused without tokens", async () => {
    expect((await get("/v1/tasks", { host: "evil.example" })).statusCode).toBe(403);
    expect((await get("/v1/tasks", { origin: "https://evil.example" })).statusCode).toBe(403);
    expect((await get("/v1/tasks", { origin: "http://localhost:3000" })).statusCode).toBe(200);
  });

  it("of a wrong method, path, size or type are told so", async () => {
    const wrong = await api.inject({ method: "DELETE", url: "/v1/tasks" });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await api.inject({ method: "OPTIONS", url: "/v1/tasks" })).statusCode).toBe(204);
    expect((await api.inject({ method: "HEAD", url: "/v1/tasks" })).statusCode).toBe(200);
    expect((await get("/v1/nothing")).json().status).toBe(404);
    const big = await post("/v1/experiments", { experiment: "x".repeat(1024 * 1024) });
    expect([big.statusCode, big.json().status]).toEqual([413, 413]);
    const text = await api.inject({
      method: "POST",
      url: "/v1/experiments",
      payload: "{}",
      headers: { "content-type": "text/plain", "idempotency-key": "t" },
    });
    expect(text.statusCode).toBe(415);
    expect((await get("/v1/tasks", { "x-request-id": "mine" })).headers["x-request-id"]).toBe("mine");
  });
});
