/** Clients of engines: the contract of every PolicyClient, and what they make of engines that misbehave. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { EngineKind } from "../../core/policy.ts";
import type { CompletionTurn, PolicyErrorKind } from "../../services/policy/client.ts";
import type { Engine, EngineOptions } from "../../services/policy/engine.ts";
import { createSglangEngine } from "../../services/policy/sglang.ts";
import { createVllmEngine } from "../../services/policy/vllm.ts";
import {
  BASE_VERSION,
  type FakeEngine,
  type Fault,
  type Step,
  startFakeEngine,
} from "../support/fake-engines/index.ts";
import { policyClientContract } from "./policy-client.ts";

const CREATE = { vllm: createVllmEngine, sglang: createSglangEngine };
const KINDS: readonly EngineKind[] = ["vllm", "sglang"];
const policyOf = (kind: EngineKind, digit = "1") => `${kind}-${digit.repeat(16)}`;

/** Says, as a publication does, which policy the engine's weights are. */
const publish = (engine: FakeEngine, policy: string) => {
  engine.state.version = policy;
};

describe.each(KINDS)("%s", (kind) => {
  const policy = policyOf(kind);
  let fake: FakeEngine;
  let weights: string;

  beforeAll(async () => {
    fake = await startFakeEngine({ kind });
    weights = await mkdtemp(join(tmpdir(), "weights-"));
    await writeFile(join(weights, "model.safetensors"), "other weights");
  });
  afterAll(async () => {
    await fake.close();
    await rm(weights, { recursive: true });
  });
  afterEach(async () => {
    fake.faults.clear();
    fake.release();
    await fake.restart();
  });

  const open = (more: Partial<EngineOptions> = {}): Engine => {
    publish(fake, policy);
    return CREATE[kind]({ url: fake.url, timeoutSeconds: 60, questionSeconds: 60, ...more });
  };
  const turn: CompletionTurn = {
    policy,
    prompt: [5, 6, 7, 8],
    maxTokens: 32,
    sampling: { temperature: 0.6, topP: 0.95, topK: 20, minP: 0.1 },
    seed: 4_000_000_000,
  };
  const post = (path: string, body: unknown = {}) =>
    fetch(`${fake.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  /** Other weights under another name, while turns go on. */
  const loadInFlight = async (version: string) => {
    if (kind === "sglang")
      return void (await post("/update_weights_from_disk", { model_path: weights, weight_version: version }));
    await post("/collective_rpc", { method: "reload_weights", kwargs: { weights_path: weights } });
    await post("/update_weight_version", { new_version: version });
  };

  policyClientContract(`the ${kind} client`, () => ({
    client: open(),
    policy,
    prompt: turn.prompt,
    tooLong: new Array<number>(9000).fill(65),
  }));

  it("sends every sampling parameter, once", async () => {
    await open().complete(turn);
    const [{ body }] = fake.requests.filter(({ step }) => step === "complete").slice(-1) as [
      FakeEngine["requests"][0],
    ];
    const ids = kind === "vllm" ? body.prompt : body.input_ids;
    const params = (kind === "vllm" ? body : body.sampling_params) as Record<string, unknown>;
    expect(ids).toEqual(turn.prompt);
    expect(params).toMatchObject({
      [kind === "vllm" ? "max_tokens" : "max_new_tokens"]: 32,
      temperature: 0.6,
      top_p: 0.95,
      top_k: 20,
      min_p: 0.1,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      ignore_eos: false,
      stop: [],
      n: 1,
      [kind === "vllm" ? "seed" : "sampling_seed"]: 4_000_000_000,
      skip_special_tokens: false,
    });
  });

  it("tells the turn's text without the token that ended it, which is among the ids", async () => {
    const { text, tokens, finish, offsets } = await open().complete(turn);
    expect(finish).toBe("stop");
    expect(tokens.at(-1)).toBe(2);
    expect(text).toHaveLength(tokens.length - 1);
    if (kind === "sglang") expect(offsets).toEqual(tokens.map((_, i) => i));
  });

  it.each<[string, Step, Fault, PolicyErrorKind, RegExp]>([
    ["hangs", "complete", "hang", "unreachable", /no whole reply in 0\.3 s/],
    ["hangs when asked what it serves", "version", "hang", "unreachable", /no whole reply in 0\.2 s/],
    ["drops the connection within the body", "complete", "drop", "unreachable", /aborted|socket hang up/],
    ["drops the connection before it", "complete", "refuse", "unreachable", /socket hang up|ECONNRESET/],
    ["dies within a turn", "complete", "die", "unreachable", /socket hang up|ECONNRESET/],
    [
      "returns fewer log-probabilities than tokens",
      "complete",
      "few-logprobs",
      "protocol",
      /\d+ tokens came with \d+ log-prob/,
    ],
    [
      "returns a log-probability that is none",
      "complete",
      "not-finite",
      "protocol",
      /log-probability 0 is null/,
    ],
    [
      "answers with a stale version",
      "version",
      "stale-version",
      "not-served",
      /it serves \w+-0000000000000000: expected/,
    ],
    ["lacks the route of turns", "complete", 404, "not-served", /status 404/],
    ["is too busy", "complete", 503, "unreachable", /status 503/],
    ["ends the turn itself", "complete", "abort", "aborted", /finish_reason "abort"/],
    ["renders the history anew", "complete", "retemplate", "protocol", /saw .*prompt/],
  ])("names an engine that %s", async (_, step, fault, errorKind, message) => {
    // Whatever else is wrong is told without waiting for it.
    const short = step === "complete" ? { timeoutSeconds: 0.3 } : { questionSeconds: 0.2 };
    const engine = open(fault === "hang" ? short : {});
    fake.faults.set(step, fault);
    const failed = await engine.complete(turn).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      name: "PolicyError",
      kind: errorKind,
      message: expect.stringMatching(message),
    });
    expect((failed as Error).message).toContain(fake.url);
  });

  it("names an engine that came back with base weights", async () => {
    const engine = open();
    await fake.restart();
    await expect(engine.complete(turn)).rejects.toMatchObject({
      kind: "not-served",
      message: `${fake.url}: it serves ${BASE_VERSION}: expected ${policy}`,
    });
    expect(fake.requests.at(-1)!.step).toBe("version");
  });

  it("takes a turn within which weights were published for no sample", async () => {
    const engine = open();
    fake.hold();
    const asked = engine.complete(turn);
    asked.catch(() => undefined);
    await fake.inProgress(1);
    await loadInFlight(policyOf(kind, "2"));
    fake.release();
    await expect(asked).rejects.toMatchObject({
      kind: "aborted",
      message: expect.stringContaining(
        `the weights changed within the turn, from ${policy} to ${policyOf(kind, "2")}`,
      ),
    });
  });

  it("goes on in flight where it may, and says which tokens are of which version", async () => {
    const engine = open({ onPublish: "continue" });
    fake.hold();
    const asked = engine.complete(turn);
    await fake.inProgress(1);
    await loadInFlight(policyOf(kind, "2"));
    fake.release();
    const { weightVersion, versions, tokens } = await asked;
    expect(weightVersion).toBe(policy);
    // vLLM does not say where: all of them count as old.
    expect(versions).toEqual([
      { from: 0, version: policy },
      ...(kind === "sglang" ? [{ from: Math.floor(tokens.length / 2), version: policyOf(kind, "2") }] : []),
    ]);
    expect(await engine.complete(turn)).toMatchObject({ weightVersion: policyOf(kind, "2") });
  });

  it("never goes on with weights that nobody published", async () => {
    const engine = open({ onPublish: "continue" });
    fake.hold();
    const asked = engine.complete(turn);
    asked.catch(() => undefined);
    await fake.inProgress(1);
    await loadInFlight(BASE_VERSION);
    fake.release();
    await expect(asked).rejects.toMatchObject({ kind: "aborted" });
    await expect(engine.complete(turn)).rejects.toMatchObject({ kind: "not-served" });
  });

  it("gives a turn up within it when the caller does", async () => {
    const abort = new AbortController();
    fake.hold();
    const asked = open().complete({ ...turn, signal: abort.signal });
    asked.catch(() => undefined);
    await fake.inProgress(1);
    abort.abort();
    await expect(asked).rejects.toMatchObject({
      kind: "aborted",
      message: expect.stringContaining("the caller"),
    });
  });
});

describe("vLLM without its development routes", () => {
  let fake: FakeEngine;
  beforeAll(async () => {
    fake = await startFakeEngine({ kind: "vllm", devMode: false });
  });
  afterAll(() => fake.close());
  const policy = policyOf("vllm");
  const turn = {
    policy,
    prompt: [4, 5],
    maxTokens: 4,
    sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
    seed: 1,
  };

  it("cannot be trained with, since nothing says what it serves", async () => {
    const engine = createVllmEngine({ url: fake.url });
    expect(await engine.capabilities()).toEqual({
      tokenIds: true,
      logProbs: true,
      weightVersion: false,
      seed: true,
    });
    await expect(engine.complete(turn)).rejects.toMatchObject({ kind: "capability" });
  });

  it("is believed by the record of what was published, where there is one", async () => {
    const record = new Map([[fake.url, policy]]);
    const engine = createVllmEngine({ url: fake.url, versions: async (url) => record.get(url) ?? null });
    expect(await engine.complete(turn)).toMatchObject({ weightVersion: policy });
    record.set(fake.url, policyOf("vllm", "2"));
    await expect(engine.complete(turn)).rejects.toMatchObject({ kind: "not-served" });
  });
});
