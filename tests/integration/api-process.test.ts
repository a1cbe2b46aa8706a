/** `tadpole api` as a process: where it listens, how it ends; and bad input to both faces of one stack. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databaseUrl, packageRoot, readStack } from "../../infra/stack/index.ts";
import {
  createExperiment,
  createLocalArtifacts,
  type Db,
  openDatabase,
  recordEvent,
} from "../../services/store/index.ts";
import { type Cli, openCli } from "../support/cli.ts";
import { recordTestExperiment, testSettings } from "../support/record.ts";

let cli: Cli;
let db: Db;
let server: ChildProcess;
let base: string;
let log = "";

/** Serves until it is told to stop; resolves with its address. */
async function listen(...args: readonly string[]): Promise<string> {
  server = spawn(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), "api", "--port", "0", ...args], {
    env: {
      ...process.env,
      TADPOLE_DATA: cli.dataFolder,
      OLD: "old-token-0123456789;expires=2020-01-01T00:00:00Z",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    server.once("exit", (code) => reject(new Error(`tadpole api ended with ${code}: ${log}`)));
    server.stdout!.on("data", (bytes) => {
      log += bytes;
      const address = /Server listening at (http:[^"]+)/.exec(log)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
}

beforeAll(async () => {
  cli = openCli();
  await cli.json("up");
  db = await openDatabase(databaseUrl(readStack(cli.dataFolder)!));
  const artifacts = await createLocalArtifacts(join(cli.dataFolder, "artifacts"));
  await recordTestExperiment(db, artifacts, "done-1");
  await createExperiment(db, { name: "going-1", settings: testSettings(), codeVersion: "test" });
  await recordEvent(db, {
    key: "going-1/one",
    experiment: "going-1",
    kind: "phase",
    detail: { phase: "pool" },
  });
  base = await listen();
}, 300_000);

afterAll(async () => {
  server?.kill("SIGKILL");
  await db?.destroy();
  await cli?.close();
});

let keys = 0;
function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  return fetch(`${base}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(method === "POST" ? { "idempotency-key": `key-${keys++}` } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const work = { kind: "run", experiment: "quickstart" };
const schedule = "schedule create nightly --cron";

/** What was asked, on the command line and over HTTP, with the status and what both must name. */
const BAD: readonly (readonly [
  what: string,
  args: readonly string[],
  request: readonly [method: string, path: string, body?: object],
  status: number,
  named: RegExp,
])[] = [
  ["an unknown experiment", ["show", "nope"], ["GET", "/v1/experiments/nope"], 404, /no experiment "nope"/],
  [
    "steering of an unknown experiment",
    ["stop", "nope"],
    ["POST", "/v1/experiments/nope/stop"],
    404,
    /no experiment "nope"/,
  ],
  [
    "a second start of a name, with other settings",
    ["run", "quickstart", "--name", "going-1", "--detach"],
    ["POST", "/v1/experiments", { experiment: "quickstart", name: "going-1" }],
    409,
    /going-1.*settings/,
  ],
  [
    "an amend of a fixed setting",
    ["amend", "going-1", "seed=2"],
    ["POST", "/v1/experiments/going-1/amend", { path: "seed", value: 2 }],
    422,
    /seed is fixed.*amendable are.*climb\.updates/,
  ],
  [
    "a replay of a missing iteration",
    ["replay", "done-1", "9"],
    ["POST", "/v1/experiments/done-1/iterations/9/replay", {}],
    404,
    /no iteration 9.*it has/,
  ],
  [
    "a schedule with an impossible cron",
    [...schedule.split(" "), "61 3 * * *", "run", "quickstart"],
    ["POST", "/v1/schedules", { name: "nightly", cron: "61 3 * * *", work }],
    422,
    /61 3/,
  ],
  [
    "a schedule that never fires",
    [...schedule.split(" "), "0 0 31 2 *", "run", "quickstart"],
    ["POST", "/v1/schedules", { name: "nightly", cron: "0 0 31 2 *", work }],
    422,
    /never fires/,
  ],
  [
    "an unknown schedule",
    ["schedule", "resume", "nope"],
    ["POST", "/v1/schedules/nope/resume"],
    404,
    /no schedule "nope"/,
  ],
  [
    "a cursor of another list",
    ["task", "list", "--cursor", "AAAAAAAAAAAAAAAA"],
    ["GET", "/v1/tasks?cursor=AAAAAAAAAAAAAAAA"],
    422,
    /cursor: expected the `next`/,
  ],
  [
    "a page too long",
    ["rollout", "list", "--limit", "201"],
    ["GET", "/v1/rollouts?limit=201"],
    400,
    /limit.*(200|<=200)/,
  ],
  [
    "an evaluation on an unknown set",
    ["evaluate", "latest", "nowhere", "--experiment", "done-1"],
    ["POST", "/v1/evaluations", { experiment: "done-1", policy: "latest", set: "nowhere" }],
    404,
    /no task set "nowhere".*unseen/,
  ],
  [
    "a comparison with a missing try",
    ["diff", "done-1/7/1", "done-1/7/2"],
    ["GET", "/v1/diff?a=done-1/7/1&b=done-1/7/2"],
    404,
    /no.*7/,
  ],
];

describe("bad input is one clear error on both faces, and changes nothing", () => {
  const counted = async () =>
    Promise.all(
      (["experiments", "iterations", "events", "evaluations"] as const).map(async (table) => {
        const { count } = await db
          .selectFrom(table)
          .select((build) => build.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        return [table, Number(count)];
      }),
    );

  it.each(BAD)("%s", async (_, args, [method, path, body], status, named) => {
    const before = await counted();
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(named);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    const answer = await call(method, path, body);
    const problem = (await answer.json()) as { status: number; detail: string };
    expect([answer.status, problem.status, problem.detail]).toEqual([
      status,
      status,
      expect.stringMatching(named),
    ]);
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(await counted()).toEqual(before);
    expect(await (await call("GET", "/v1/schedules")).json()).toEqual({ items: [], next: null });
  });
});

describe("where it listens", () => {
  it.each(["0.0.0.0", "::", "192.0.2.1", "example.org"])(
    "beyond this machine needs a token: %s",
    async (host) => {
      const { code, stderr } = await cli.run(["api", "--port", "0", "--host", host]);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /^tadpole: --host [^\n]*expected --read-token-env or --write-token-env[^\n]*\n$/,
        ),
      });
    },
  );

  it("an occupied port is one clear line", async () => {
    const { code, stderr } = await cli.run(["api", "--port", new URL(base).port]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^tadpole: --host [^\n]*EADDRINUSE[^\n]*\n$/),
    });
  });
});

it("SIGTERM ends it with 0 while a client listens, and the client's last event is a whole one", async () => {
  const answer = await fetch(`${base}/v1/experiments/going-1/events`);
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!/event: progress\ndata: .*\n\n/.test(text)) text += (await reader.read()).value;
  server.kill("SIGTERM");
  const ended = once(server, "exit");
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  expect(text.endsWith("\n\n")).toBe(true);
  expect(text).toMatch(/^id: [A-Za-z0-9_-]+\nevent: phase\n/);
  expect(text).not.toContain("event: end");
  expect(await ended).toEqual([0, null]);
  await expect(fetch(`${base}/v1/health`)).rejects.toThrow();
});

it("a client comes again with the id it saw last, to a process that started since", async () => {
  const id = /^id: (.*)$/m.exec(await new Response((await (await listenAgain()).events()).body).text())?.[1];
  expect(id).toBeDefined();
  await recordEvent(db, {
    key: "going-1/two",
    experiment: "going-1",
    kind: "phase",
    detail: { phase: "climb" },
  });
  const rest = await (
    await call("GET", "/v1/experiments/going-1/events", undefined, { "last-event-id": id! })
  ).text();
  const events = [...rest.matchAll(/^event: phase\ndata: (.*)$/gm)].map(
    (match) => JSON.parse(match[1]!).phase,
  );
  expect(events).toEqual(["climb"]);
});

async function listenAgain() {
  log = "";
  base = await listen("--stream-seconds", "1");
  return { events: () => call("GET", "/v1/experiments/going-1/events") };
}
