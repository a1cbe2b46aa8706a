/** What the API does for every request beside answering it: limits, logs, tokens that expire, failures that tell nothing. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiOptions, createApi } from "../../apps/api/server.ts";
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

let postgres: TestPostgres;
let db: Db;
let artifacts: ArtifactStore;
let folder: string;
const opened: Api[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tadpole-api-serving-"));
  postgres = await startTestPostgres();
  db = await openDatabase(postgres.url);
  artifacts = await createLocalArtifacts(join(folder, "artifacts"));
  await recordTestExperiment(db, artifacts, "done-1");
});

afterAll(async () => {
  for (const api of opened) await api.close();
  await db?.destroy();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An API on the record, and the lines it logs. None of these requests asks Temporal. */
async function serve(options: Partial<ApiOptions> = {}, record = db) {
  const lines: string[] = [];
  const api = await createApi(
    { db: record, artifacts, client: undefined as never },
    {
      tokens: [],
      requestsPerMinute: 100_000,
      streamSeconds: 2,
      version: "0.0.0",
      log: { write: (line) => void lines.push(line) },
      ...options,
    },
  );
  opened.push(api);
  return { api, lines };
}

const environment = {
  READ: "read-token-0123456789",
  WRITE: "write-token-0123456789",
  OLD: "old-token-0123456789;expires=2020-01-01T00:00:00Z",
};

describe("limits", () => {
  it("more requests than allowed are 429 with the time to come again, on every path", async () => {
    const { api } = await serve({ requestsPerMinute: 3 });
    for (let request = 0; request < 3; request++)
      expect((await api.inject({ url: "/v1/tasks" })).statusCode).toBe(200);
    for (const url of ["/v1/tasks", "/v1/nothing", "/v1/policies?limit=x"]) {
      const answer = await api.inject({ url });
      expect([url, answer.statusCode, answer.json().status]).toEqual([url, 429, 429]);
      expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
      expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(60);
    }
  });

  it("a body over the limit is 413 before it is read, and starts nothing", async () => {
    const { api } = await serve();
    const answer = await api.inject({
      method: "POST",
      url: "/v1/experiments",
      headers: { "idempotency-key": "big", "content-type": "application/json" },
      payload: JSON.stringify({ experiment: "x".repeat(1024 * 1024), name: "big" }),
    });
    expect([answer.statusCode, answer.json().title]).toEqual([413, "Content Too Large"]);
    expect(await db.selectFrom("requests").selectAll().where("key", "=", "big").execute()).toEqual([]);
  });
});

describe("logs", () => {
  it("have each request under the id that its answer carries, and no token, however it was sent", async () => {
    const tokens = [
      readToken("READ", ["read"], environment),
      readToken("WRITE", ["read", "write"], environment),
    ];
    const { api, lines } = await serve({ tokens });
    const ids: string[] = [];
    const secrets = [environment.READ, environment.WRITE, "guessed-token-0123456789"];
    for (const secret of secrets) {
      const url = `/v1/tasks?token=${secret}`;
      for (const authorization of [`Bearer ${secret}`, secret, `Basic ${secret}`]) {
        const answer = await api.inject({
          url,
          headers: { authorization, cookie: secret, "x-api-key": secret },
        });
        expect([400, 401]).toContain(answer.statusCode);
        expect(answer.body).not.toContain(secret);
        ids.push(answer.headers["x-request-id"] as string);
      }
    }
    const named = await api.inject({
      url: "/v1/tasks",
      headers: { authorization: `Bearer ${environment.READ}`, "x-request-id": "from-the-client" },
    });
    expect([named.statusCode, named.headers["x-request-id"]]).toEqual([200, "from-the-client"]);
    const forged = await api.inject({
      url: "/v1/tasks",
      headers: { authorization: `Bearer ${environment.READ}`, "x-request-id": 'a"\nforged: line' },
    });
    ids.push("from-the-client", forged.headers["x-request-id"] as string);
    expect(new Set(ids).size).toBe(ids.length);
    const logged = new Set(lines.map((line) => JSON.parse(line).reqId));
    expect(ids.filter((id) => !logged.has(id))).toEqual([]);
    const text = lines.join("");
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toContain("forged");
  });

  it("have the cause of a failure, of which the answer has the id alone", async () => {
    const gone = await openDatabase(postgres.url);
    await gone.destroy();
    const { api, lines } = await serve({}, gone);
    const answer = await api.inject({ url: "/v1/tasks" });
    expect(answer.statusCode).toBeGreaterThanOrEqual(500);
    expect(answer.body).not.toMatch(/destroyed|\.ts:|node_modules/);
    const cause = lines
      .map((line) => JSON.parse(line))
      .find(({ reqId, err }) => reqId === answer.headers["x-request-id"] && err !== undefined);
    expect(cause.err.message).toMatch(/destroyed/);
    expect(cause.err.stack).toContain("\n");
  });
});

describe("tokens", () => {
  it("that expired are 401 with what is expected, and nothing is done", async () => {
    const { api } = await serve({ tokens: [readToken("OLD", ["read", "write"], environment)] });
    const answer = await api.inject({
      method: "POST",
      url: "/v1/experiments/done-1/stop",
      headers: { authorization: "Bearer old-token-0123456789", "idempotency-key": "expired" },
    });
    expect([answer.statusCode, answer.json().detail]).toEqual([401, "expired token"]);
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
    expect(await db.selectFrom("requests").selectAll().where("key", "=", "expired").execute()).toEqual([]);
  });

  it("are what the document says is needed", async () => {
    const { api } = await serve({ tokens: [readToken("READ", ["read"], environment)] });
    const document = (await api.inject({ url: "/openapi.json" })).json();
    expect([document.openapi, document.security]).toEqual(["3.1.1", [{ token: [] }]]);
    expect(document.paths["/v1/health"].get.security).toEqual([]);
    expect((await api.inject({ url: "/docs/" })).statusCode).toBe(200);
  });
});
