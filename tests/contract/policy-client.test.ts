import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import {
  createNanoTemplate,
  createOpenAIClient,
  createPolicyServer,
  encodeCheckpoint,
  freshCheckpoint,
  type PolicyClient,
  type PolicyServer,
  publishPolicy,
  requireTraining,
  SLOTS,
} from "../../services/policy/index.ts";
import { policyClientContract } from "./policy-client.ts";

let folder: string;
let server: PolicyServer;
let client: PolicyClient;
let policy: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "policy-"));
  const stream = random(1, "weights");
  const weights = Float64Array.from({ length: SLOTS }, () => stream.next() - 0.5);
  const bytes = encodeCheckpoint(freshCheckpoint(weights));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  policy = `nano-${sha256.slice(0, 16)}`;
  const path = join(folder, "checkpoint");
  await writeFile(path, bytes);
  server = await createPolicyServer({ folder: join(folder, "server"), port: 0 });
  const checkpoint = { uri: `file://${path}`, sha256, bytes: bytes.length, kind: "policy" } as const;
  await publishPolicy({
    baseUrl: server.url,
    policy: { id: policy, checkpoint, parent: null, step: 0 },
    path,
  });
  client = createOpenAIClient({ baseUrl: server.url });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

policyClientContract("the OpenAI client on the embedded policy's server", () => ({
  client,
  policy,
  prompt: createNanoTemplate().start([{ role: "user", content: "`total` adds wrongly in `lib/sum.js`" }], []),
  tooLong: new Array<number>(262_144).fill(65),
}));

describe("the OpenAI client on servers that misbehave", () => {
  let odd: Server | undefined;
  afterEach(() => {
    odd?.closeAllConnections();
    odd?.close();
    odd = undefined;
  });

  async function serve(listener: RequestListener, timeoutSeconds = 5): Promise<PolicyClient> {
    odd = createServer(listener);
    await new Promise<void>((resolve) => odd!.listen(0, "127.0.0.1", resolve));
    return createOpenAIClient({
      baseUrl: `http://127.0.0.1:${(odd.address() as AddressInfo).port}/v1`,
      timeoutSeconds,
    });
  }

  const replying =
    (body: unknown, status = 200): RequestListener =>
    (request, response) => {
      request.resume();
      response.writeHead(status, { "content-type": "application/json" });
      const models = request.url?.endsWith("/models");
      response.end(JSON.stringify(models ? { object: "list", data: [{ id: "m" }] } : body));
    };

  const choice = {
    text: "ab",
    finish_reason: "stop",
    token_ids: [1, 2],
    logprobs: { token_logprobs: [-1, -2] },
  };
  const good = { choices: [choice], weight_version: "p" };
  const turn = {
    policy: "p",
    prompt: [1, 2, 3],
    maxTokens: 4,
    sampling: { temperature: 0.6, topP: 0.95, topK: 20, minP: 0.1 },
    seed: 4_000_000_000,
  };

  it("sends every sampling parameter, once, to the last detail", async () => {
    const bodies: unknown[] = [];
    const asked = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(good));
      });
    });
    expect(await asked.complete(turn)).toMatchObject({
      tokens: [1, 2],
      logProbs: [-1, -2],
      weightVersion: "p",
    });
    expect(bodies).toEqual([
      expect.objectContaining({
        model: "p",
        prompt: [1, 2, 3],
        max_tokens: 4,
        temperature: 0.6,
        top_p: 0.95,
        top_k: 20,
        min_p: 0.1,
        seed: 4_000_000_000,
        return_token_ids: true,
        skip_special_tokens: false,
      }),
    ]);
  });

  it.each([
    ["other weights", { ...good, weight_version: "q" }, "not-served"],
    [
      "other weights, told SGLang's way",
      { choices: [choice], metadata: { weight_version: "q" } },
      "not-served",
    ],
    ["no token ids", { choices: [{ ...choice, token_ids: undefined }] }, "capability"],
    ["no log-probabilities", { choices: [{ ...choice, logprobs: null }] }, "capability"],
    ["more tokens than log-probabilities", { choices: [{ ...choice, token_ids: [1, 2, 3] }] }, "protocol"],
    [
      "a log-probability that is none",
      { choices: [{ ...choice, logprobs: { token_logprobs: [-1, null] } }] },
      "protocol",
    ],
    ["a turn cut off by the server", { choices: [{ ...choice, finish_reason: "abort" }] }, "aborted"],
    ["no choice", {}, "protocol"],
  ])("refuses a reply with %s", async (_, body, kind) => {
    const asked = await serve(replying(body));
    await expect(asked.complete(turn)).rejects.toMatchObject({ name: "PolicyError", kind });
  });

  it.each([
    [400, "This model's maximum context length is 1000 tokens", "context"],
    [400, "Please reduce the length of the messages", "context"],
    [400, "temperature is odd", "protocol"],
    [401, "no key", "protocol"],
    [404, "no such model", "not-served"],
    [429, "slow down", "unreachable"],
    [500, "oh", "unreachable"],
    [503, "busy", "unreachable"],
  ])("takes status %i (%s) for %s, and asks once", async (status, message, kind) => {
    let requests = 0;
    const asked = await serve((request, response) => {
      requests++;
      replying({ error: { message } }, status)(request, response);
    });
    await expect(asked.complete(turn)).rejects.toMatchObject({ name: "PolicyError", kind });
    expect(requests).toBe(1);
  });

  it.each<[string, RequestListener]>([
    ["never answers", (request) => void request.resume()],
    ["stops within its answer", (_, response) => void response.writeHead(200).write("{")],
  ])("does not wait for ever for one that %s", async (_, listener) => {
    const asked = await serve(listener, 0.3);
    await expect(asked.complete(turn)).rejects.toMatchObject({ kind: "unreachable" });
  });

  it.each<[string, RequestListener]>([
    ["hangs up", (_, response) => void response.destroy()],
    [
      "hangs up within its answer",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json" }).write("{");
        setTimeout(() => response.destroy(), 20);
      },
    ],
  ])("takes one that %s for unreachable", async (_, listener) => {
    const asked = await serve(listener);
    await expect(asked.complete(turn)).rejects.toMatchObject({ kind: "unreachable" });
  });

  it("takes a server that is not there for unreachable", async () => {
    const asked = createOpenAIClient({ baseUrl: "http://127.0.0.1:9" });
    await expect(asked.complete(turn)).rejects.toMatchObject({ kind: "unreachable" });
  });

  it("finds out that a server returns no token ids, and refuses to train with it", async () => {
    const asked = await serve(replying({ choices: [{ ...choice, token_ids: undefined }] }));
    const capabilities = await asked.capabilities();
    expect(capabilities).toEqual({ tokenIds: false, logProbs: false, weightVersion: false, seed: true });
    expect(() => requireTraining(capabilities, "http://x/v1")).toThrow(
      "policy.baseUrl http://x/v1: the server returns no token ids (return_token_ids) and no log-probabilities",
    );
  });

  it("names the variable of a key that is not set", async () => {
    const asked = createOpenAIClient({ baseUrl: "http://127.0.0.1:9", apiKeyEnv: "NO_SUCH_KEY" });
    await expect(asked.complete(turn)).rejects.toThrow("NO_SUCH_KEY is not set");
  });
});
