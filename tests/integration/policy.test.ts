import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PolicyRef } from "../../core/policy.ts";
import { random } from "../../core/random.ts";
import { runRollout } from "../../services/harness/index.ts";
import {
  createNanoTemplate,
  createOpenAIClient,
  createPolicyServer,
  encodeCheckpoint,
  freshCheckpoint,
  openConversation,
  type PolicyServer,
  publishPolicy,
  SLOTS,
  servedPolicies,
} from "../../services/policy/index.ts";
import { scoreCandidates } from "../../services/policy/nano/sampling.ts";
import { memoryLedger, SAMPLING } from "../unit/harness-policy.ts";
import { openFolder } from "../unit/harness-sandbox.ts";

const FILES = {
  "package.json": '{ "main": "lib/sum.js" }\n',
  "lib/sum.js":
    "function total(list) {\n  var sum = 1;\n  for (var i = 0; i < list.length; i++) sum -= list[i];\n  return sum;\n}\nmodule.exports = total;\n",
};
const STATEMENT = "`total` in `lib/sum.js` gives a wrong sum.";

let folder: string;
let server: PolicyServer;
let first: { readonly ref: PolicyRef; readonly path: string; readonly weights: Float64Array };

async function writePolicy(seed: number): Promise<typeof first> {
  // Near 0: a policy that tries everything.
  const stream = random(seed, "weights");
  const weights = Float64Array.from({ length: SLOTS }, () => (stream.next() - 0.5) / 50);
  const bytes = encodeCheckpoint(freshCheckpoint(weights));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const path = join(folder, `${sha256}.policy`);
  await writeFile(path, bytes);
  const checkpoint = { uri: `file://${path}`, sha256, bytes: bytes.length, kind: "policy" } as const;
  return { ref: { id: `nano-${sha256.slice(0, 16)}`, checkpoint, parent: null, step: 0 }, path, weights };
}

const post = (path: string, body: unknown) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

async function errorOf(response: Response): Promise<{ status: number; message: string; code: string }> {
  const { error } = (await response.json()) as { error: { message: string; code: string } };
  return { status: response.status, ...error };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "policy-"));
  server = await createPolicyServer({ folder: join(folder, "server"), port: 0, maxBodyBytes: 100_000 });
  first = await writePolicy(1);
  await publishPolicy({ baseUrl: server.url, policy: first.ref, path: first.path });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function rollout(baseUrl: string, policy: string, member: number) {
  const sandbox = await openFolder(FILES);
  try {
    const { trajectory } = await runRollout({
      statement: STATEMENT,
      policy,
      limits: { maxContextTokens: 100_000, maxTurns: 8, maxTokensPerTurn: 64, maxSeconds: null },
      sampling: SAMPLING,
      turnSeed: (turn) => random(5, member, turn).seed32(),
      sandbox,
      client: createOpenAIClient({ baseUrl }),
      template: createNanoTemplate(),
      ledger: memoryLedger(),
    });
    return trajectory;
  } finally {
    await sandbox.destroy();
  }
}

describe("rollouts against the policy server", () => {
  it("are the same one by one, all at once, and from a server without a prefix cache", async () => {
    const members = [0, 1, 2, 3, 4, 5];
    const together = await Promise.all(members.map((member) => rollout(server.url, first.ref.id, member)));
    const plain = await createPolicyServer({ folder: join(folder, "plain"), port: 0, cachedPrefixes: 0 });
    try {
      await publishPolicy({ baseUrl: plain.url, policy: first.ref, path: first.path });
      for (const member of members)
        expect(await rollout(plain.url, first.ref.id, member)).toEqual(together[member]);
    } finally {
      await plain.close();
    }
    expect(new Set(together.map((one) => JSON.stringify(one.segments))).size).toBeGreaterThan(1);
    for (const one of together) expect(one.segments).toHaveLength(1);
  });

  it("record log-probabilities that the tokens alone give back, to the bit", async () => {
    const [segment] = (await rollout(server.url, first.ref.id, 9)).segments;
    const conversation = openConversation();
    let checked = 0;
    for (const [i, token] of segment!.tokens.entries()) {
      if (segment!.trainable[i]) {
        const candidates = conversation.next()!;
        const scores = [...scoreCandidates(candidates, first.weights)];
        const top = Math.max(...scores);
        const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
        expect(segment!.logProbs[i]).toBe(
          scores[candidates.tokens.indexOf(token)]! - (top + Math.log(total)),
        );
        checked++;
      }
      conversation.append(token);
    }
    expect(checked).toBeGreaterThan(3);
  });
});

describe("the chat route", () => {
  const answers: Readonly<Record<string, string>> = {
    Glob: "lib/sum.js",
    Read: `lib/sum.js\n${FILES["lib/sum.js"]
      .trimEnd()
      .split("\n")
      .map((line, i) => `${i + 1}. ${line}`)
      .join("\n")}`,
    Edit: "Edited lib/sum.js (1 replacement).",
  };

  /** What each route said turn by turn, and how much each turn added to the prompt. */
  async function converse(seed: number) {
    const api = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
    const tokenRoute = createOpenAIClient({ baseUrl: server.url });
    const template = createNanoTemplate();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: STATEMENT }];
    let prompt = template.start([{ role: "user", content: STATEMENT }], []);
    const turns = [];
    for (let turn = 0; turn < 5; turn++) {
      const common = { maxTokens: 64, sampling: SAMPLING, seed: seed + turn };
      const said = await tokenRoute.complete({ policy: first.ref.id, prompt, ...common });
      const parsed = template.parse(said.text, "x");
      const chat = await api.chat.completions.create({
        model: first.ref.id,
        messages,
        temperature: 1,
        seed: seed + turn,
      });
      const { message, finish_reason: finish } = chat.choices[0]!;
      const calls = (message.tool_calls ?? []).flatMap((call) => (call.type === "function" ? [call] : []));
      turns.push({
        chat: { content: message.content, calls: calls.map((call) => call.function) },
        tokens: {
          content: parsed.content,
          calls: parsed.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
        },
        finish,
        lengths: [chat.usage!.prompt_tokens, prompt.length] as const,
      });
      if (calls.length === 0) break;
      const results = calls.map((call) => answers[call.function.name] ?? "");
      messages.push(message);
      for (const [i, call] of calls.entries())
        messages.push({ role: "tool", tool_call_id: call.id, content: results[i]! });
      const extension = results.map((content) => ({ role: "tool", toolCallId: "", content }) as const);
      prompt = [...prompt, ...said.tokens, ...template.extend(extension, said.tokens)];
    }
    return turns;
  }

  it("serves the openai package, and says turn by turn what the token route says", async () => {
    let singleCalls = 0;
    for (let seed = 0; seed < 120; seed += 5) {
      const turns = await converse(seed);
      for (const [i, { chat, tokens, finish, lengths }] of turns.entries()) {
        expect(chat).toEqual(tokens);
        expect(finish).toBe(chat.calls.length > 0 ? "tool_calls" : "stop");
        const before = turns[i - 1];
        if (before?.chat.calls.length !== 1) continue;
        // One call that the policy can make itself becomes the very tokens it sampled, not its text.
        expect(lengths[0] - before.lengths[0]).toBe(lengths[1] - before.lengths[1]);
        singleCalls++;
      }
    }
    expect(singleCalls).toBeGreaterThan(3);
  });

  it("takes calls and texts that the policy never wrote", async () => {
    const call = { id: "c", type: "function", function: { name: "Search", arguments: "{]" } };
    const response = await post("/v1/chat/completions", {
      model: first.ref.id,
      messages: [
        { role: "developer", content: "d" },
        { role: "user", content: [{ type: "text", text: STATEMENT }] },
        { role: "assistant", content: "Let me see.", tool_calls: [call] },
        { role: "tool", tool_call_id: "c", content: "nothing" },
      ],
    });
    expect(response.status).toBe(200);
  });
});

describe("a request that cannot be answered", () => {
  const ask = async (path: string, body: unknown) => errorOf(await post(path, body));

  it.each([
    ["/v1/completions", "{", 400, "the body is no JSON"],
    ["/v1/completions", "[]", 400, "the body: expected a JSON object"],
    ["/v1/completions", { prompt: [1] }, 400, "model: expected the id of a policy"],
    ["/v1/completions", { model: "m", prompt: [1, -1] }, 400, "prompt[1]: expected a token id"],
    ["/v1/completions", { model: "m", prompt: {} }, 400, "prompt: expected a list of token ids or a text"],
    ["/v1/completions", { model: "m", prompt: "a", temperature: -1 }, 400, "temperature: expected"],
    ["/v1/completions", { model: "m", prompt: "a", top_p: "1" }, 400, "top_p: expected"],
    ["/v1/completions", { model: "m", prompt: "a", n: 2 }, 400, "n: expected 1"],
    ["/v1/completions", { model: "m", prompt: "a", stream: true }, 400, "stream: expected false"],
    ["/v1/completions", { model: "m", prompt: "a", seed: 1.5 }, 400, "seed: expected an integer"],
    ["/v1/completions", { model: "m", prompt: "a" }, 404, 'the policy "m" is not served'],
    ["/v1/completions", { model: "m", prompt: "a".repeat(100_001) }, 413, "more than 100000 bytes"],
    ["/v1/chat/completions", { model: "m", messages: [] }, 400, "messages: expected"],
    ["/v1/chat/completions", { model: "m", messages: [null] }, 400, "messages[0].role: expected"],
    [
      "/v1/chat/completions",
      { model: "m", messages: [{ role: "user", content: 1 }] },
      400,
      "messages[0].content",
    ],
    ["/v1/nothing", {}, 404, "no such route"],
    ["/weights", { id: "../x", path: "/x", sha256: "0".repeat(64) }, 400, "id: expected"],
    ["/weights", { id: "x", path: "/x", sha256: "0" }, 400, "sha256: expected 64 hex digits"],
    ["/weights", { id: "x", path: "x", sha256: "0".repeat(64) }, 400, "path: expected an absolute path"],
    ["/weights", { id: "x", path: "/nowhere/x", sha256: "0".repeat(64) }, 400, "cannot be read (ENOENT)"],
  ])("%s %j: %i %s", async (path, body, status, message) => {
    const error = await ask(path, body);
    expect(error.status).toBe(status);
    expect(error.message).toContain(message);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  it("is told to come back when too many are in progress", async () => {
    const small = await createPolicyServer({ folder: join(folder, "small"), port: 0, maxConcurrent: 1 });
    try {
      const open = new TransformStream<Uint8Array, Uint8Array>();
      const writer = open.writable.getWriter();
      const url = `${small.url}/v1/completions`;
      const slow = fetch(url, { method: "POST", body: open.readable, duplex: "half" } as RequestInit);
      await writer.write(new TextEncoder().encode('{"model":'));
      let active = 0;
      while (active === 0)
        ({ active } = (await (await fetch(`${small.url}/health`)).json()) as { active: number });
      const refused = await fetch(url, { method: "POST", body: "{}" });
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      await writer.write(new TextEncoder().encode("1}"));
      await writer.close();
      expect((await slow).status).toBe(400);
      expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(400);
    } finally {
      await small.close();
    }
  });
});

describe("publishing", () => {
  it("refuses a file with another hash, a damaged one, and one with a number that is none; serves what it did", async () => {
    const before = await servedPolicies(server.url);
    const bytes = await readFile(first.path);
    const damaged = { ...first.ref, id: "nano-damaged" };
    const path = join(folder, "damaged");
    await writeFile(path, bytes.subarray(0, 1000));
    const publish = (sha256: string) =>
      publishPolicy({
        baseUrl: server.url,
        policy: { ...damaged, checkpoint: { ...damaged.checkpoint, sha256 } },
        path,
      });
    const hash = async () =>
      createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
    await expect(publish(first.ref.checkpoint.sha256)).rejects.toThrow("expected");
    await expect(publish(await hash())).rejects.toThrow("no policy");
    bytes.writeDoubleLE(Number.NaN, bytes.length - 8);
    await writeFile(path, bytes);
    await expect(publish(await hash())).rejects.toThrow("NaN");
    expect(await servedPolicies(server.url)).toEqual(before);
  });

  it("never gives an id another meaning", async () => {
    const other = await writePolicy(2);
    await expect(
      publishPolicy({ baseUrl: server.url, policy: { ...other.ref, id: first.ref.id }, path: other.path }),
    ).rejects.toThrow("an id never changes");
  });

  it("may be repeated", async () => {
    await publishPolicy({ baseUrl: server.url, policy: first.ref, path: first.path });
    expect((await servedPolicies(server.url)).filter((one) => one.id === first.ref.id)).toHaveLength(1);
  });

  it("takes a server that is away for unreachable", async () => {
    await expect(
      publishPolicy({ baseUrl: "http://127.0.0.1:9", policy: first.ref, path: first.path }),
    ).rejects.toMatchObject({ kind: "unreachable" });
  });
});

describe("the server's process", () => {
  const started: ChildProcess[] = [];
  afterAll(() => {
    for (const child of started) child.kill("SIGKILL");
  });

  async function start(data: string): Promise<{ child: ChildProcess; url: string }> {
    const child = fork(new URL("../../workers/policy.ts", import.meta.url), {
      env: { ...process.env, TADPOLE_DATA: data, TADPOLE_POLICY_PORT: "0" },
      execArgv: [],
      silent: true,
    });
    started.push(child);
    let output = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      output += chunk;
    });
    const [message] = await once(child, "message");
    expect(message).toMatchObject({ ready: true });
    for (;;) {
      const url = /http:\S+/.exec(output)?.[0];
      if (url) return { child, url };
      await once(child.stdout!, "data");
    }
  }

  it("serves after kill -9 what it served before, and drops nothing but what is gone", async () => {
    const data = join(folder, "data");
    const second = await writePolicy(3);
    const one = await start(data);
    for (const { ref, path } of [first, second]) await publishPolicy({ baseUrl: one.url, policy: ref, path });
    const said = await rollout(one.url, first.ref.id, 1);
    one.child.kill("SIGKILL");
    await once(one.child, "exit");
    await rm(second.path);

    const two = await start(data);
    expect(await servedPolicies(two.url)).toHaveLength(2);
    expect(await rollout(two.url, first.ref.id, 1)).toEqual(said);
    await expect(rollout(two.url, second.ref.id, 1)).rejects.toMatchObject({ kind: "not-served" });
    two.child.kill("SIGTERM");
    expect(await once(two.child, "exit")).toEqual([0, null]);
  }, 30_000);
});
