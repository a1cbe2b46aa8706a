/** Publication by the worker beside the engines: what is on record, who is brought back, which folders stay, and a full disk. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listServed } from "../../apps/control/index.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { type PolicyRef, policyId } from "../../core/policy.ts";
import { packCheckpoint } from "../../services/checkpoints/index.ts";
import { createPublisher, type Publisher } from "../../services/publication/index.ts";
import { askPublication, recordPolicy, withEngines } from "../../services/store/index.ts";
import { type FakeEngine, loadWeights, startFakeEngine } from "../support/fake-engines/index.ts";
import { writeModel } from "../support/model-folder.ts";
import { openTestRecord, type TestRecord } from "../support/open-record.ts";

let record: TestRecord;
let root: string;
let policies: PolicyRef[];
let large: PolicyRef;
let fakes: FakeEngine[];
let server: ExperimentSettings["policy"];
let publisher: Publisher;
let data: string;

beforeAll(async () => {
  record = await openTestRecord();
  root = await mkdtemp(join(tmpdir(), "tadpole-publisher-"));
  const made = async (seed: number, size: number): Promise<PolicyRef> => {
    const model = await writeModel(join(root, `model-${seed}`), { seed, size });
    const checkpoint = await packCheckpoint(record.artifacts, { model, optimizer: null, step: 0 });
    const policy = { id: policyId("vllm", checkpoint.sha256), checkpoint, parent: null, step: 0 };
    await recordPolicy(record.db, "vllm", policy);
    return policy;
  };
  policies = [];
  for (const seed of [1, 2, 3, 4]) policies.push(await made(seed, 64));
  large = await made(5, 200_000);
}, 60_000);
afterAll(async () => {
  await record.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  fakes = await Promise.all([1, 2, 3, 4].map(() => startFakeEngine({ kind: "vllm" })));
  data = await mkdtemp(join(root, "data-"));
  server = {
    kind: "vllm",
    baseUrl: null,
    model: "model",
    apiKeyEnv: null,
    passRates: null,
    engines: {
      urls: fakes.map(({ url }) => url),
      weightsFolder: null,
      calls: "hermes-json",
      turnsInFlight: 4,
      pausedShare: 0.5,
      onPublish: "finish",
    },
  };
  publisher = createPublisher({ db: record.db, artifacts: record.artifacts, dataFolder: data });
});
afterEach(async () => {
  await Promise.all(fakes.map((fake) => fake.close()));
  await record.db.deleteFrom("engine_versions").execute();
});

const served = async () => {
  const { engines } = await listServed(record);
  const byUrl = new Map(engines.map((engine) => [engine.url, engine]));
  return fakes.map(({ url }) => byUrl.get(url)!);
};
const asked = () => fakes.flatMap(({ requests }) => requests.map(({ step }) => step));
const forget = () => {
  for (const fake of fakes) fake.requests.length = 0;
};

describe("the publisher", () => {
  it("has on record what each engine serves, and asks one thing for what is served already", async () => {
    const [first] = policies;
    await publisher.publish(first!, server);
    for (const engine of await served())
      expect(engine).toMatchObject({ state: "serving", policy: first!.id, target: first!.id, why: null });
    const since = (await served()).map((engine) => engine.since);
    forget();
    await publisher.publish(first!, server);
    expect(asked()).toEqual(Array(4).fill("version"));
    // Another process knows it, too.
    forget();
    await createPublisher({ db: record.db, artifacts: record.artifacts, dataFolder: data }).publish(
      first!,
      server,
    );
    expect(asked()).toEqual(Array(4).fill("version"));
    expect((await served()).map((engine) => engine.since)).toEqual(since);
  });

  it("keeps an engine that died out, saying why, and brings it back once it was restarted", async () => {
    const [first, second] = policies;
    await publisher.publish(first!, server);
    const victim = fakes[2]!;
    victim.faults.set("load", "die");
    await publisher.publish(second!, server);
    expect((await served()).map(({ state }) => state)).toEqual(["serving", "serving", "out", "serving"]);
    expect((await served())[2]).toMatchObject({ policy: null, why: expect.stringContaining("load: ") });

    victim.faults.clear();
    await victim.restart();
    await publisher.tend();
    expect(victim.state).toMatchObject({ version: second!.id, paused: null });
    expect(victim.state.weights).toEqual(await loadWeights(join(data, "checkpoints", second!.id)));
    expect((await served())[2]).toMatchObject({ state: "serving", policy: second!.id, why: null });
  });

  it("puts an engine out that was restarted behind its back, and gives it what it was asked for", async () => {
    const [first] = policies;
    await publisher.publish(first!, server);
    await fakes[0]!.restart();
    fakes[0]!.faults.set("load", 500, 1);
    await publisher.tend();
    expect((await served())[0]).toMatchObject({ state: "out", policy: null });
    await publisher.tend();
    expect((await served())[0]).toMatchObject({ state: "serving", policy: first!.id });
  });

  it("goes back where no engine can serve the new version, and asks for the last good one from then on", async () => {
    const [first, second] = policies;
    await publisher.publish(first!, server);
    for (const fake of fakes) fake.faults.set("load", 500, 1);
    await expect(publisher.publish(second!, server)).rejects.toMatchObject({
      name: "PolicyError",
      kind: "unreachable",
      message: expect.stringContaining(
        `no engine serves ${second!.id}; the engines serve ${first!.id} again`,
      ),
    });
    for (const engine of await served())
      expect(engine).toMatchObject({ state: "serving", policy: first!.id, target: first!.id });
    await publisher.publish(second!, server);
    expect((await served()).map(({ policy }) => policy)).toEqual(Array(4).fill(second!.id));
  });

  it("tells weights without finite log-probabilities from engines that fail", async () => {
    const [first, second] = policies;
    await publisher.publish(first!, server);
    for (const fake of fakes) fake.faults.set("complete", "not-finite", 1);
    await expect(publisher.publish(second!, server)).rejects.toMatchObject({
      name: "CheckpointError",
      kind: "not-finite",
    });
    for (const fake of fakes) expect(fake.state.version).toBe(first!.id);
  });

  it("gives up where a newer publication was asked for meanwhile", async () => {
    const [first, second] = policies;
    const { urls } = server.engines!;
    let older: Promise<unknown> = Promise.resolve();
    await withEngines(record.db, urls, { wait: true }, async () => {
      older = publisher.publish(first!, server).catch((error: unknown) => error);
      while ((await listServed(record)).engines.length < 4) await new Promise((done) => setTimeout(done, 5));
      await askPublication(record.db, { urls, target: second!.id, keeper: "elsewhere", server });
    });
    expect(await older).toMatchObject({
      kind: "aborted",
      message: expect.stringContaining(`was asked for ${second!.id} meanwhile`),
    });
    expect(asked()).not.toContain("load");
  });

  it("removes the folders of versions that nobody can need any more", async () => {
    for (const policy of policies) await publisher.publish(policy, server);
    expect((await readdir(join(data, "checkpoints"))).sort()).toEqual(
      [".incoming", policies[2]!.id, policies[3]!.id].sort(),
    );
  });

  it("refuses engines without the routes, saying what they need", async () => {
    const bare = await startFakeEngine({ kind: "vllm", devMode: false });
    fakes.push(bare);
    const alone = { ...server, engines: { ...server.engines!, urls: [bare.url] } };
    await expect(publisher.publish(policies[0]!, alone)).rejects.toMatchObject({
      kind: "capability",
      message: expect.stringContaining("VLLM_SERVER_DEV_MODE=1"),
    });
  });

  it("touches no engine where the disk is full, so that the last good policy keeps serving", async () => {
    const at = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
    // The engines are inside, too: they see the small disk.
    const script = `
      const { readdir } = await import("node:fs/promises");
      const { createLocalArtifacts, connectDatabase } = await import(${at("services/store/index.ts")});
      const { createPublisher } = await import(${at("services/publication/index.ts")});
      const { startFakeEngine } = await import(${at("tests/support/fake-engines/index.ts")});
      const fakes = [await startFakeEngine({ kind: "vllm" }), await startFakeEngine({ kind: "vllm" })];
      const server = ${JSON.stringify(server)};
      server.engines.urls = fakes.map(({ url }) => url);
      const db = connectDatabase(${JSON.stringify(record.server.url)});
      const artifacts = await createLocalArtifacts(${JSON.stringify(record.folder)});
      const publisher = createPublisher({ db, artifacts, dataFolder: "/mnt" });
      await publisher.publish(${JSON.stringify(policies[0])}, server);
      for (const fake of fakes) fake.requests.length = 0;
      const error = await publisher.publish(${JSON.stringify(large)}, server).catch((caught) => caught);
      console.log(JSON.stringify({
        kind: error.kind,
        message: error.message,
        left: await readdir("/mnt/checkpoints"),
        engines: fakes.map(({ state, requests }) => [state.version, state.paused, requests.length]),
      }));
      await db.destroy();
      for (const fake of fakes) await fake.close();`;
    const mounts = ["--ro-bind", "/", "/", "--size", "1048576", "--tmpfs", "/mnt"];
    const program = [process.execPath, "--input-type=module", "-e", script];
    const { stdout } = await promisify(execFile)("bwrap", [...mounts, ...program]);
    expect(JSON.parse(stdout)).toEqual({
      kind: "disk-full",
      message: expect.stringContaining("what is served stays as it is"),
      left: [".incoming", policies[0]!.id],
      engines: Array(2).fill([policies[0]!.id, null, 0]),
    });
  });
});
