/**
 * A server that speaks the protocol of chat completions and plays an author, good or bad. It is asked over HTTP, keeps no conversation, counts
 * tokens as its usage says, and answers the same to the same: for tests, and for experiments without a model (`main.ts`).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as script from "./script.ts";

export const PERSONALITIES = [
  "good",
  "improving",
  "vacuous",
  "wrong-gold",
  "leaky",
  "disguised",
  "cheating",
  "broken-json",
  "wrong-schema",
  "silent",
  "slow",
  "endless",
  "rate-limited",
  "always-rate-limited",
  "other-model",
  "false-usage",
  "html",
  "refuses-key",
  "unknown-model",
  "failing",
  "no-choices",
] as const;
export type Personality = (typeof PERSONALITIES)[number];

export interface Usage {
  readonly prompt: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly generated: number;
}

export interface ScriptedAuthor {
  readonly url: string;
  /** What each answered request took, in order. */
  readonly counted: readonly Usage[];
  /** Requests, those refused too. */
  readonly requests: () => number;
  /** Values of the Authorization header. */
  readonly keys: readonly string[];
  /** From this request on, as counted in `counted`, it fails; null = it does no longer. */
  failFrom(answer: number | null): void;
  close(): Promise<void>;
}

interface Options {
  readonly personality: Personality;
  readonly port?: number;
  /** What it says it is. */
  readonly model?: string;
  /** Of `slow`. */
  readonly delayMs?: number;
}

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content?: string | null }[];
  readonly tools: readonly object[];
}

const say: Partial<Record<Personality, (messages: Asked["messages"]) => script.Said>> = {
  improving: script.improving,
  vacuous: (messages) => script.good(messages, script.vacuous),
  "wrong-gold": (messages) => script.good(messages, script.wrongGold),
  leaky: (messages) => script.good(messages, script.leaky),
  disguised: (messages) => script.good(messages, script.disguised),
  cheating: script.cheating,
  "broken-json": script.brokenJson,
  "wrong-schema": script.wrongSchema,
  silent: script.silent,
};

const tokensOf = (value: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 4);

/** The whole prompt of the turn before was seen already; every answer begins with some thinking. */
function usageOf({ messages, tools }: Asked, said: script.Said): Usage {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const prompt = tokensOf([messages, tools]);
  const reasoning = 5;
  return {
    prompt,
    cached: last < 0 ? 0 : Math.min(prompt, tokensOf([messages.slice(0, last), tools])),
    reasoning,
    generated: reasoning + tokensOf([said.text, said.calls]),
  };
}

function completion(asked: Asked, said: script.Said, usage: Usage, model: string): object {
  const turn = asked.messages.length;
  return {
    id: `chatcmpl-${turn}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        finish_reason: said.calls.length > 0 ? "tool_calls" : "stop",
        message: {
          role: "assistant",
          content: said.text === "" ? null : said.text,
          ...(said.calls.length > 0 && {
            tool_calls: said.calls.map((one, i) => ({
              id: `call_${turn}_${i}`,
              type: "function",
              function: one,
            })),
          }),
        },
      },
    ],
    usage: {
      prompt_tokens: usage.prompt,
      completion_tokens: usage.generated,
      total_tokens: usage.prompt + usage.generated,
      prompt_tokens_details: { cached_tokens: usage.cached },
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked;
}

function send(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const isText = typeof body === "string";
  response.writeHead(status, { "content-type": isText ? "text/html" : "application/json", ...headers });
  response.end(isText ? body : JSON.stringify(body));
}

const problem = (message: string, code: string): object => ({ error: { message, type: "error", code } });

/** Until the client goes away. */
function sendForEver(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"id":"chatcmpl-1","choices":[');
  const chunk = " ".repeat(1 << 16);
  const timer = setInterval(() => response.write(chunk), 1);
  response.on("close", () => clearInterval(timer));
}

export async function startScriptedAuthor(options: Options): Promise<ScriptedAuthor> {
  const { personality, delayMs = 1000, port = 0 } = options;
  const counted: Usage[] = [];
  const keys: string[] = [];
  const limited = new Map<number, number>();
  let requests = 0;
  let failing = Number.POSITIVE_INFINITY;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests++;
    keys.push(request.headers.authorization ?? "");
    if (request.url !== "/v1/chat/completions" || request.method !== "POST")
      return send(response, 404, "<h1>Not found</h1>");
    const asked = await bodyOf(request);
    if (personality === "html") return send(response, 200, "<!doctype html><title>Welcome</title>");
    if (personality === "endless") return sendForEver(response);
    if (personality === "refuses-key")
      return send(response, 401, problem(`Incorrect API key provided: ${keys.at(-1)}`, "invalid_api_key"));
    if (personality === "unknown-model")
      return send(response, 404, problem(`The model ${asked.model} does not exist`, "model_not_found"));
    if (personality === "failing" || counted.length >= failing)
      return send(response, 503, problem("overloaded", "overloaded"));
    if (personality === "always-rate-limited")
      return send(response, 429, problem("slow down", "rate_limit"), { "retry-after": "3600" });
    if (personality === "rate-limited") {
      const times = limited.get(asked.messages.length) ?? 0;
      limited.set(asked.messages.length, times + 1);
      if (times < 2)
        return send(response, 429, problem("slow down", "rate_limit"), { "retry-after-ms": "5" });
    }
    const said = (say[personality] ?? script.good)(asked.messages);
    const usage = usageOf(asked, said);
    if (personality === "slow") await new Promise((resolve) => setTimeout(resolve, delayMs));
    counted.push(usage);
    const name = personality === "other-model" ? "another-model" : (options.model ?? asked.model);
    const whole = completion(asked, said, usage, name);
    if (personality === "no-choices") return send(response, 200, { ...whole, choices: [] });
    if (personality === "false-usage")
      return send(response, 200, { ...whole, usage: { prompt_tokens: 1, completion_tokens: 0 } });
    send(response, 200, whole);
  };

  const server: Server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 500, String(error)));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counted,
    requests: () => requests,
    keys,
    failFrom: (answer) => {
      failing = answer ?? Number.POSITIVE_INFINITY;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
