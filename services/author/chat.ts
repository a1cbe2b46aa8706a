/** One request to the author's server: `/v1/chat/completions` of any OpenAI-compatible endpoint, bounded in time and bytes. */
import { setTimeout as wait } from "node:timers/promises";
import OpenAI from "openai";
import type { AuthorSettings } from "../../core/synthesis.ts";
import { boundedFetch, ReplyTooLong } from "./bounded-fetch.ts";
import { isAskedModel } from "./model-name.ts";
import { type AuthorReply, BadReply, readReply } from "./reply.ts";
import { AuthorError, type AuthorErrorKind, type SpentByFailure } from "./types.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];
export type ChatMessage = Messages[number];
export type ChatTool = OpenAI.ChatCompletionFunctionTool;

/** Times one request is sent again where the server asks to come back later. */
const MAX_WAITS = 5;
/** Longest wait that is sat out here; a longer one is left to whoever retries the whole. */
const MAX_WAIT_SECONDS = 60;
const QUOTED = 200;

export type Ask = (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<AuthorReply>;

/** Throws AuthorError alone; `settings` where the key's variable is not set. */
export function createChat(settings: AuthorSettings, tools: readonly ChatTool[]): Ask {
  const { model, maxTokens, temperature, timeoutSeconds } = settings;
  const key = keyOf(settings);
  const quote = quoting(key);
  if (/^\w+:\/\/[^/]*@/.test(settings.baseUrl))
    throw new AuthorError(
      "settings",
      `${named(settings)}: expected no user and no password in it; a key is what the variable of synthesis.author.apiKeyEnv holds`,
    );
  const api = new OpenAI({
    baseURL: withV1(settings.baseUrl),
    apiKey: key ?? "none",
    maxRetries: 0,
    // Not from the environment of whoever started the worker.
    organization: null,
    project: null,
    fetch: (url, init) => boundedFetch(url as string | URL, init as RequestInit),
  });

  const send = async (messages: readonly ChatMessage[], signal?: AbortSignal): Promise<AuthorReply> => {
    const limit = AbortSignal.timeout(timeoutSeconds * 1000);
    const body = {
      model,
      // The library's types are not readonly; it only serialises.
      messages: messages as Messages,
      tools: tools as ChatTool[],
      max_tokens: maxTokens,
      temperature,
      stream: false as const,
    };
    try {
      const reply = await api.chat.completions.create(body, {
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        // The signal is the limit: the library's own ends with the headers.
        timeout: 2 * timeoutSeconds * 1000,
      });
      const read = readReply(reply, maxTokens, Buffer.byteLength(JSON.stringify(body)));
      if (isAskedModel(model, read.model)) return read;
      throw new AuthorError(
        "wrong-model",
        `synthesis.author.model ${model}: ${shown(settings.baseUrl)} answers as ${quote(read.model)}; expected the same name, or a dated release of it`,
        read.used,
      );
    } catch (error) {
      if (error instanceof AuthorError) throw error;
      if (signal?.aborted)
        throw new AuthorError("aborted", `${named(settings)}: the request was given up`, "unknown");
      if (limit.aborted)
        throw new AuthorError(
          "unreachable",
          `${named(settings)}: no whole answer in ${timeoutSeconds} s (synthesis.author.timeoutSeconds)`,
          "unknown",
        );
      throw authorError(error, settings, quote);
    }
  };

  return async (messages, signal) => {
    for (let waits = 0; ; waits++) {
      try {
        return await send(messages, signal);
      } catch (error) {
        const seconds = error instanceof RateLimited ? error.waitSeconds : null;
        if (seconds === null || seconds > MAX_WAIT_SECONDS || waits >= MAX_WAITS) throw error;
        await wait(seconds * 1000, undefined, { signal }).catch(() => {
          throw new AuthorError("aborted", `${named(settings)}: the request was given up`);
        });
      }
    }
  };
}

class RateLimited extends AuthorError {
  /** Null = the server does not say. */
  readonly waitSeconds: number | null;
  constructor(message: string, waitSeconds: number | null) {
    super("rate-limited", message);
    this.waitSeconds = waitSeconds;
  }
}

function withV1(baseUrl: string): string {
  const root = baseUrl.replace(/\/+$/, "");
  return root.endsWith("/v1") ? root : `${root}/v1`;
}

function keyOf({ apiKeyEnv }: AuthorSettings): string | null {
  if (apiKeyEnv === null) return null;
  const value = process.env[apiKeyEnv];
  if (!value)
    throw new AuthorError(
      "settings",
      `synthesis.author.apiKeyEnv: the environment variable ${apiKeyEnv} is not set where the sandbox worker runs; set it, then tadpole down, tadpole up, and the experiment again`,
    );
  // Refused here, for what refuses a header quotes it.
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new AuthorError(
      "settings",
      `synthesis.author.apiKeyEnv: expected the environment variable ${apiKeyEnv} to hold printable ASCII without spaces and line breaks`,
    );
  return value;
}

/** Without what a URL may carry of a password. */
function shown(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

const named = ({ baseUrl }: AuthorSettings): string => `synthesis.author.baseUrl ${shown(baseUrl)}`;

type Quote = (text: string) => string;

/** One line of what a server says, without the key, plain or as JSON has it: a server may send back what it was sent. */
function quoting(key: string | null): Quote {
  const secrets = key === null ? [] : [key, JSON.stringify(key).slice(1, -1)];
  return (text) => {
    const line = secrets
      .reduce((told, secret) => told.replaceAll(secret, "***"), text)
      .replace(/\s+/g, " ")
      .trim();
    return line.length > QUOTED ? `${line.slice(0, QUOTED)}…` : line;
  };
}

/** Seconds; null where the header is absent or says nothing that can be waited for. */
export function retryAfter(headers: Headers | undefined, now: number): number | null {
  const milliseconds = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds / 1000;
  const value = headers?.get("retry-after");
  if (!value) return null;
  const seconds = Number(value);
  if (seconds >= 0) return seconds;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000);
}

function authorError(error: unknown, settings: AuthorSettings, quote: Quote): AuthorError {
  const told = quote(error instanceof Error ? error.message : String(error));
  const say = (kind: AuthorErrorKind, what: string, spent?: SpentByFailure) =>
    new AuthorError(kind, `${named(settings)}: ${what}`, spent);
  const tooLong = [error, (error as { cause?: unknown }).cause].find((one) => one instanceof ReplyTooLong);
  if (tooLong !== undefined)
    return say("protocol", `${(tooLong as Error).message}; expected one chat completion`, "at-most");
  if (error instanceof BadReply)
    return error.usage
      ? say("usage", `${told}; expected true counts of tokens, which the spending is reckoned by`, "at-most")
      : say("protocol", `no chat completion: ${told}`, "at-most");
  if (error instanceof OpenAI.APIError && error.status !== undefined)
    return refusal(error, settings, told, say);
  if (error instanceof OpenAI.APIConnectionError || error instanceof TypeError)
    return say("unreachable", `no answer: ${quote(deepest(error).message)}`, "unknown");
  return say("protocol", `no chat completion: ${told}`, "at-most");
}

/** fetch says "fetch failed", and why not in its cause. */
function deepest(error: Error): Error {
  return error.cause instanceof Error ? deepest(error.cause) : error;
}

function refusal(
  error: InstanceType<typeof OpenAI.APIError>,
  { apiKeyEnv, model, baseUrl }: AuthorSettings,
  told: string,
  say: (kind: AuthorErrorKind, what: string) => AuthorError,
): AuthorError {
  const status = error.status as number;
  if (status === 401 || status === 403) {
    const using = apiKeyEnv === null ? "null (no key)" : apiKeyEnv;
    // What the server says may quote the key.
    return new AuthorError(
      "refused-key",
      `synthesis.author.apiKeyEnv ${using}: ${shown(baseUrl)} refuses the key (HTTP ${status})`,
    );
  }
  if (status === 404) {
    if (typeof error.error !== "object" || error.error === null)
      return say("protocol", "has no /v1/chat/completions (HTTP 404); expected an OpenAI-compatible server");
    return new AuthorError(
      "unknown-model",
      `synthesis.author.model ${model}: ${shown(baseUrl)} does not serve it (HTTP ${told})`,
    );
  }
  if (status === 429) {
    const seconds = retryAfter(error.headers, Date.now());
    const wanted = seconds === null ? "without saying for how long" : `for ${seconds} s`;
    return new RateLimited(say("rate-limited", `asks to wait ${wanted} (HTTP 429)`).message, seconds);
  }
  if (status >= 500 || status === 408) return say("server", `failed (HTTP ${told})`);
  return say("refused", `refuses the request (HTTP ${told})`);
}
