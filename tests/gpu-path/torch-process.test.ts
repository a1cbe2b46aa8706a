/** The torch trainer as a process: joined, found again by key, killed at any time; what it makes is whole and always the same. */
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type BatchRow, encodeBatch } from "../../services/trainers/index.ts";
import type { TrainedFile, TrainerEvent, UpdateOrder } from "../../services/trainers/protocol.ts";
import { makeTinyModel } from "../support/gpu-path.ts";
import { connectTo, startTorch, type TorchServer } from "../support/torch-server.ts";

const folder = mkdtempSync(join(tmpdir(), "tadpole-torch-process-"));
const settings: UpdateOrder["settings"] = {
  loss: { kind: "dppo-tv", threshold: 0.2, clipLow: 0.2, clipHigh: 0.28, ratioLow: 0.5, ratioHigh: 2 },
  optimizer: { learningRate: 1e-3, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.1, clipNorm: 1 },
};
let model: string;
let batch: string;
let server: TorchServer;
let cases = 0;

/** Rows of 40 tokens each, as a policy that knows nothing samples them: some passes to be interrupted in. */
function rows(count: number): BatchRow[] {
  return Array.from({ length: count }, (_, r) => ({
    group: `g${r >> 1}`,
    rollout: `r${r}`,
    advantage: r % 2 === 0 ? 1 : -1,
    reward: r % 2 === 0 ? 1 : 0,
    raw: r % 2 === 0 ? 1 : 0,
    tokens: Array.from({ length: 40 }, (_, i) => (r * 31 + i * 17) % 256),
    trainable: Array.from({ length: 40 }, (_, i) => (i < 8 ? 0 : 1)),
    logProbs: Array.from({ length: 40 }, (_, i) => (i < 8 ? 0 : -5.5)),
  }));
}

/** An order of its own folder; the key is as good as any that a worker draws. */
function order(change: Partial<UpdateOrder> = {}): UpdateOrder {
  const key = `key-${++cases}`;
  return { key, parent: model, optimizer: null, batch, out: join(folder, "made", key), settings, ...change };
}

const hashes = (trained: TrainedFile) => trained.files.map(({ path, sha256 }) => `${path} ${sha256}`);
const last = (events: readonly TrainerEvent[]) => events.at(-1)!;

function doneOf(events: readonly TrainerEvent[]): TrainedFile {
  const event = last(events);
  if (event.event !== "done") throw new Error(JSON.stringify(event));
  return event.trained;
}

beforeAll(async () => {
  model = await makeTinyModel(join(folder, "model"));
  batch = join(folder, "batch.arrow");
  writeFileSync(batch, encodeBatch(rows(60)));
});
beforeEach(async () => {
  if (server?.running()) return;
  server = await startTorch(mkdtempSync(join(folder, "session-")));
});
afterAll(async () => {
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

describe("a torch trainer's process", () => {
  it("says what it is, to those who know its token alone", async () => {
    const connection = await connectTo(server.session);
    expect(last(await connection.ask({ op: "hello" }))).toMatchObject({
      ...{ event: "hello", trainer: "torch", devices: [], busy: null },
      version: expect.stringMatching(/^\d+\.\d+\.\d+ \(torch \d/),
    });
    const stranger = await connectTo({ ...server.session, token: randomBytes(16).toString("hex") });
    const refused = last(await stranger.ask({ op: "update", ...order() }));
    expect(refused).toMatchObject({ event: "failed", message: "the token is not this session's" });
    expect(existsSync(join(folder, "made"))).toBe(false);
    connection.close();
    stranger.close();
  });

  it("trains the same key once: while it is made others join, afterwards its folder answers", async () => {
    const wanted = order();
    const first = await connectTo(server.session);
    const making = first.ask({ op: "update", ...wanted });
    await first.next("progress");
    const second = await connectTo(server.session);
    const joining = second.ask({ op: "update", ...wanted });
    await second.next("progress");
    expect(last(await second.ask({ op: "hello" }))).toMatchObject({ event: "hello", busy: wanted.key });
    // Whoever began it may go: the update is not his.
    first.close();
    const trained = doneOf(await joining);
    void making;
    expect(JSON.parse(readFileSync(join(wanted.out, "checkpoint.json"), "utf8"))).toEqual(trained);
    expect(trained).toMatchObject({ format: "tadpole-trained", version: 1, key: wanted.key, step: 1 });
    expect(trained.metrics.trainableTokens).toBe(60 * 32);
    expect(Object.values(trained.metrics).every(Number.isFinite)).toBe(true);

    const again = await second.ask({ op: "update", ...wanted });
    expect(again.map(({ event }) => event)).toEqual(["done"]);
    expect(doneOf(again)).toEqual(trained);
    second.close();
  });

  it("gives the same files for the same order, and tells which rows are done", async () => {
    const connection = await connectTo(server.session);
    const events = await connection.ask({ op: "update", ...order() });
    const progress = events.flatMap((event) => (event.event === "progress" ? [event] : []));
    // Two rows a pass, and once more when all of it is saved.
    const rowsDone = Array.from({ length: 30 }, (_, i) => 2 * (i + 1));
    expect(progress.map(({ done, total }) => [done, total])).toEqual(
      [...rowsDone, 60].map((done) => [done, 60]),
    );
    const again = doneOf(await connection.ask({ op: "update", ...order() }));
    expect(hashes(again)).toEqual(hashes(doneOf(events)));
    expect(again.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["model/config.json", "model/tokenizer.json", "optimizer/moment1.safetensors"]),
    );
    connection.close();
  });

  it.each(["SIGKILL", "SIGTERM"] as const)(
    "ended by %s within an update leaves nothing half made; the next makes the same",
    async (signal) => {
      const connection = await connectTo(server.session);
      const expected = hashes(doneOf(await connection.ask({ op: "update", ...order() })));
      const wanted = order();
      const parent = readdirSync(model).map((name) => readFileSync(join(model, name), "hex"));
      void connection.ask({ op: "update", ...wanted });
      await connection.next("progress");
      await server.kill(signal);
      expect(existsSync(wanted.out)).toBe(false);
      if (signal === "SIGTERM") {
        expect(readdirSync(join(folder, "made")).filter((name) => name.endsWith(".incoming"))).toEqual([]);
        expect(existsSync(join(server.folder, "session.json"))).toBe(false);
      }
      // The runner goes with its server, or it would write into the next one's folder.
      while (server.descendants().length > 0) await sleep(20);

      server = await startTorch(mkdtempSync(join(folder, "session-")));
      const next = await connectTo(server.session);
      expect(hashes(doneOf(await next.ask({ op: "update", ...wanted })))).toEqual(expected);
      expect(readdirSync(model).map((name) => readFileSync(join(model, name), "hex"))).toEqual(parent);
      next.close();
    },
  );

  it("says of an update's process that was killed that it is gone, and makes the next one", async () => {
    const connection = await connectTo(server.session);
    const wanted = order();
    const making = connection.ask({ op: "update", ...wanted });
    await connection.next("progress");
    for (const pid of server.descendants()) process.kill(pid, "SIGKILL");
    expect(last(await making)).toMatchObject({
      ...{ event: "failed", kind: "internal" },
      message: "the update's process ended by SIGKILL; its log says more",
    });
    expect(doneOf(await connection.ask({ op: "update", ...wanted })).step).toBe(1);
    connection.close();
  });

  it("tells each bad input by one error, and goes on", async () => {
    const connection = await connectTo(server.session);
    const failure = async (change: Partial<UpdateOrder>) => {
      const wanted = order(change);
      const event = last(await connection.ask({ op: "update", ...wanted }));
      expect(existsSync(wanted.out)).toBe(false);
      return event.event === "failed" ? `${event.kind}: ${event.message}` : event.event;
    };
    const empty = join(folder, "empty.arrow");
    writeFileSync(empty, encodeBatch([]));
    expect(await failure({ batch: empty })).toBe(`batch: ${empty}: the batch has no rows`);
    const large = join(folder, "large.arrow");
    writeFileSync(large, encodeBatch([{ ...rows(1)[0]!, tokens: Array(40).fill(260) }]));
    expect(await failure({ batch: large })).toBe(
      "batch: batch row 0 (r0): tokens[0] is 260, the model knows the tokens 0 to 259",
    );
    const gone = join(folder, "gone");
    expect(await failure({ parent: gone })).toBe(
      `model: ${gone}: no such folder, expected a model in Hugging Face's layout`,
    );
    const bare = join(folder, "bare");
    mkdirSync(bare);
    writeFileSync(join(bare, "config.json"), readFileSync(join(model, "config.json")));
    expect(await failure({ parent: bare })).toMatch(/^model: .*bare: no tokenizer, expected one of /);
    const odd = { ...settings, loss: { ...settings.loss, kind: "other" as "dppo-tv" } };
    expect(await failure({ settings: odd })).toMatch(/settings\.loss\.kind is 'other', expected one of /);
    expect(doneOf(await connection.ask({ op: "update", ...order() })).step).toBe(1);
    connection.close();
  });

  it("asked to stop, finishes what it is at and ends with exit code 0", async () => {
    const connection = await connectTo(server.session);
    const wanted = order();
    const making = connection.ask({ op: "update", ...wanted });
    await connection.next("progress");
    connection.send({ op: "stop" });
    expect(last(await connection.ask({ op: "update", ...order() }))).toMatchObject({
      ...{ event: "failed", message: "the trainer stops and takes no more updates" },
    });
    expect(doneOf(await making).key).toBe(wanted.key);
    expect(await server.ended).toBe(0);
    expect(existsSync(join(server.folder, "session.json"))).toBe(false);
  });
});
