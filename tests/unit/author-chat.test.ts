/** One request to an author's server, over real HTTP: what it costs, and what each kind of bad server is called. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { failureType } from "../../core/failures.ts";
import type { TokenCounts } from "../../core/spend.ts";
import type { AuthorSettings } from "../../core/synthesis.ts";
import { boundedFetch } from "../../services/author/bounded-fetch.ts";
import { type ChatMessage, createChat, retryAfter } from "../../services/author/chat.ts";
import { AUTHOR_TOOLS, AuthorError } from "../../services/author/index.ts";
import { isAskedModel } from "../../services/author/model-name.ts";
import { askPaid, promptBound } from "../../services/author/paid.ts";
import { readReply } from "../../services/author/reply.ts";
import { authorSettings, memoryBooks, spentBy } from "../support/author-books.ts";
import {
  type Personality,
  type ScriptedAuthor,
  startScriptedAuthor,
} from "../support/scripted-author/server.ts";

const MESSAGES: readonly ChatMessage[] = [
  { role: "system", content: "You write tasks." },
  { role: "user", content: "Task type: bug\n\nPackage: minimist\n" },
];
const KEY = "sk-test-0123456789abcdef";
process.env.TADPOLE_TEST_AUTHOR_KEY = KEY;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function serve(personality: Personality, more: object = {}): Promise<ScriptedAuthor> {
  const server = await startScriptedAuthor({ personality, ...more });
  open.push(server);
  return server;
}

async function failureOf(settings: AuthorSettings, books = memoryBooks()): Promise<AuthorError> {
  const ask = createChat(settings, AUTHOR_TOOLS);
  return askPaid(ask, { settings, books, key: "k" }, 0, MESSAGES, AUTHOR_TOOLS).then(
    () => {
      throw new Error("it answered");
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(AuthorError);
      return error as AuthorError;
    },
  );
}

describe("an answered request", () => {
  it("is reserved at most for what it can cost, and settled by what the server counted", async () => {
    const server = await serve("good");
    const settings = authorSettings(server.url);
    const books = memoryBooks();
    const ask = createChat(settings, AUTHOR_TOOLS);
    const reply = await askPaid(ask, { settings, books, key: "e/it/1" }, 3, MESSAGES, AUTHOR_TOOLS);
    expect(reply.calls.map(({ name }) => name)).toEqual(["Read"]);
    const [request] = books.reserved;
    expect(request).toEqual({
      key: "e/it/1/3",
      phase: "synthesise",
      model: "scripted",
      atMost: { prompt: promptBound(MESSAGES, AUTHOR_TOOLS), generated: 4096 },
    });
    expect(spentBy(books)).toEqual(spentBy(server));
    expect(request!.atMost.prompt).toBeGreaterThanOrEqual(spentBy(server).prompt);
  });

  it("sends the key, and only where one is set", async () => {
    const server = await serve("good");
    await createChat(authorSettings(server.url, { apiKeyEnv: "TADPOLE_TEST_AUTHOR_KEY" }), [])(MESSAGES);
    await createChat(authorSettings(`${server.url}/v1/`), [])(MESSAGES);
    expect(server.keys).toEqual([`Bearer ${KEY}`, "Bearer none"]);
  });

  it("that was answered before is neither sent nor paid again", async () => {
    const server = await serve("good");
    const settings = authorSettings(server.url);
    const books = memoryBooks();
    const kept = new Map<string, object>();
    const replies = {
      find: async (key: string) => kept.get(key),
      keep: async (key: string, reply: object) => void kept.set(key, reply),
    };
    const ask = () =>
      askPaid(createChat(settings, []), { settings, books, key: "k", replies }, 0, MESSAGES, []);
    expect(await ask()).toEqual(await ask());
    expect(server.requests()).toBe(1);
    expect(spentBy(books)).toEqual(spentBy(server));
  });

  it("waits as long as a busy server asks, then goes on; nothing is paid for the waiting", async () => {
    const server = await serve("rate-limited");
    const settings = authorSettings(server.url);
    const books = memoryBooks();
    await askPaid(createChat(settings, []), { settings, books, key: "k" }, 0, MESSAGES, []);
    expect(server.requests()).toBe(3);
    expect(spentBy(books)).toEqual(spentBy(server));
  });
});

const NOTHING: TokenCounts = { prompt: 0, cached: 0, reasoning: 0, text: 0, toolCalls: 0 };

describe("a bad server", () => {
  it.each([
    ["html", "protocol", "synthesis.author.baseUrl", "answers no JSON object but HTML", "BadInput"],
    ["no-choices", "protocol", "synthesis.author.baseUrl", "choices", "BadInput"],
    ["false-usage", "usage", "synthesis.author.baseUrl", "true counts of tokens", "BadInput"],
    ["other-model", "wrong-model", "synthesis.author.model scripted", "answers as another-model", "BadInput"],
    ["unknown-model", "unknown-model", "synthesis.author.model scripted", "does not serve it", "BadInput"],
    ["refuses-key", "refused-key", "synthesis.author.apiKeyEnv TADPOLE_TEST_AUTHOR_KEY", "401", "BadInput"],
    ["failing", "server", "synthesis.author.baseUrl", "503", "Infrastructure"],
    ["always-rate-limited", "rate-limited", "synthesis.author.baseUrl", "3600 s", "Infrastructure"],
  ] as const)(
    "that is %s is named as %s, with its setting",
    async (personality, kind, setting, said, type) => {
      const server = await serve(personality);
      const settings = authorSettings(server.url, { apiKeyEnv: "TADPOLE_TEST_AUTHOR_KEY" });
      const error = await failureOf(settings);
      expect(error.kind).toBe(kind);
      expect(error.message.startsWith(setting)).toBe(true);
      expect(error.message).toContain(said);
      expect(error.message).toContain(server.url);
      expect(failureType(error)).toBe(type);
      // Neither the message nor anything behind it quotes the key.
      expect(error.cause).toBeUndefined();
      expect(`${error.message}${error.stack}`).not.toContain(KEY);
    },
  );

  it.each([
    ["refuses-key", NOTHING],
    ["failing", NOTHING],
    ["false-usage", { ...NOTHING, prompt: promptBound(MESSAGES, AUTHOR_TOOLS), text: 4096 }],
  ] as const)("that is %s is settled by what is sure", async (personality, expected) => {
    const server = await serve(personality);
    const books = memoryBooks();
    await failureOf(authorSettings(server.url, { apiKeyEnv: "TADPOLE_TEST_AUTHOR_KEY" }), books);
    expect(books.settled.get("k/0")).toEqual(expected);
  });

  it("that answers as another model is paid what it counted", async () => {
    const server = await serve("other-model");
    const books = memoryBooks();
    await failureOf(authorSettings(server.url), books);
    expect(spentBy(books)).toEqual(spentBy(server));
  });

  it.each(["endless", "slow"] as const)(
    "that is %s is given up after timeoutSeconds, and its outcome stays open",
    async (personality) => {
      const server = await serve(personality, { delayMs: 60_000 });
      const books = memoryBooks();
      const error = await failureOf(authorSettings(server.url, { timeoutSeconds: 0.3 }), books);
      expect(error.kind).toBe("unreachable");
      expect(error.message).toContain("no whole answer in 0.3 s (synthesis.author.timeoutSeconds)");
      expect(books.reserved).toHaveLength(1);
      expect(books.settled.size).toBe(0);
    },
  );

  it("that is not there is unreachable", async () => {
    const server = await serve("good");
    await server.close();
    open.pop();
    const error = await failureOf(authorSettings(server.url));
    expect(error).toMatchObject({ kind: "unreachable" });
    expect(error.message).toContain(`synthesis.author.baseUrl ${server.url}: no answer:`);
  });

  it("is not asked by a URL with a password, which no error shows", () => {
    const settings = authorSettings("http://user:secret@127.0.0.1:9/v1");
    const expected = "synthesis.author.baseUrl http://127.0.0.1:9/v1: expected no user and no password in it";
    expect(() => createChat(settings, [])).toThrow(expected);
  });

  it("that has no such route is told from one without the model", async () => {
    const server = await serve("good");
    const error = await failureOf(authorSettings(`${server.url}/api`));
    expect(error.kind).toBe("protocol");
    expect(error.message).toContain("has no /v1/chat/completions (HTTP 404)");
  });

  it("that breaks off within its answer is unreachable, and one that sends elsewhere is refused", async () => {
    const server = createServer((request, response) => {
      if (request.url?.startsWith("/elsewhere")) {
        response.writeHead(307, { location: "http://127.0.0.1:9/" }).end();
        return;
      }
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"id": ');
      setImmediate(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await failureOf(authorSettings(url))).toMatchObject({ kind: "unreachable", spent: "unknown" });
    expect(await failureOf(authorSettings(`${url}/elsewhere`))).toMatchObject({ kind: "refused" });
  });

  it("that is never asked, the key's variable not being set", async () => {
    const server = await serve("good");
    const settings = authorSettings(server.url, { apiKeyEnv: "TADPOLE_TEST_UNSET" });
    expect(() => createChat(settings, [])).toThrow(
      "synthesis.author.apiKeyEnv: the environment variable TADPOLE_TEST_UNSET is not set",
    );
    expect(server.requests()).toBe(0);
  });
});

describe("a body without an end", () => {
  it("is read up to the bound", async () => {
    const server = createServer((_, response) => {
      const timer = setInterval(() => response.write(" ".repeat(1000)), 1);
      response.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({
      close: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(boundedFetch(url, {}, 5000)).rejects.toThrow("a reply of more than 5000 bytes");
  });
});

describe("the model that answers", () => {
  it.each([
    ["gpt-4o", "gpt-4o", true],
    ["gpt-4o", "gpt-4o-2024-08-06", true],
    ["gpt-4o", "gpt-4o-mini", false],
    ["gpt-4", "gpt-4-32k", false],
    ["claude-latest", "claude-20250101", true],
    ["Qwen/Qwen3-4B", "Qwen3-4B", true],
    ["Qwen/Qwen3-4B", "Qwen/Qwen3-4B", true],
    ["Qwen3-4B", "Qwen3-8B", false],
    ["qwen3", "qwen3:8b", false],
    ["model", "model@20240806", true],
    ["model", "model-8", false],
    ["model", "model:8", false],
    ["model", "model-0613", false],
    ["model", "model-v2", false],
    ["model", "model-20241399", false],
    ["model", "model-2024-08-06-8", false],
    ["scripted", "scripted-8", false],
  ])("asked for %s, %s: %s", (asked, answered, same) => {
    expect(isAskedModel(asked, answered)).toBe(same);
  });
});

const completion = (message: object, usage: object) => ({
  model: "m",
  choices: [{ finish_reason: "stop", message }],
  usage,
});
const callOf = (written: string) => ({ id: "c", function: { name: "Bash", arguments: written } });

describe("the tokens of a reply", () => {
  it("are split between text and calls by their characters, and add up", () => {
    const { used } = readReply(
      completion(
        { content: "four", tool_calls: [callOf("12345678")] },
        {
          prompt_tokens: 100,
          completion_tokens: 21,
          prompt_tokens_details: { cached_tokens: 60 },
          completion_tokens_details: { reasoning_tokens: 4 },
        },
      ),
      1000,
      1000,
    );
    // 17 tokens for 4 characters of text and 12 of the call.
    expect(used).toEqual({ prompt: 40, cached: 60, reasoning: 4, text: 5, toolCalls: 12 });
  });

  it.each([
    [{ prompt_tokens: 9, completion_tokens: 1001 }, "synthesis.author.maxTokens allows 1000"],
    [{ prompt_tokens: 9, completion_tokens: 0 }, "an answer of 0 tokens"],
    [
      { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 10 } },
      "10 cached tokens",
    ],
    [
      { prompt_tokens: 9, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: 4 } },
      "4 reasoning",
    ],
    [{ prompt_tokens: -1, completion_tokens: 3 }, "usage.prompt_tokens"],
    [{ prompt_tokens: 501, completion_tokens: 3 }, "501 tokens where the request has 500 bytes"],
    [{ prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: 3 }, "where the request has 500 bytes"],
    [{ prompt_tokens: 2 ** 53, completion_tokens: 3 }, "usage.prompt_tokens"],
  ])("that cannot be are refused: %j", (usage, said) => {
    expect(() => readReply(completion({ content: "hello" }, usage), 1000, 500)).toThrow(said);
  });
});

describe("how long to wait", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    [{ "retry-after": "2" }, 2],
    [{ "retry-after-ms": "250" }, 0.25],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("%j is %s s", (headers, seconds) => {
    expect(retryAfter(new Headers(headers as Record<string, string>), now)).toBe(seconds);
  });
});
