/** Requests to policy servers: an end to every wait, a key by the name of its variable, and what went wrong as a PolicyError. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { PolicyError } from "./client.ts";

/** `name` = that of the environment variable with the key; null = the server needs none. Throws PolicyError `capability`. */
export function apiKey(name: string | null): string | null {
  if (name === null) return null;
  const value = process.env[name];
  if (!value)
    throw new PolicyError("capability", `policy.apiKeyEnv: the environment variable ${name} is not set`);
  return value;
}

/** How servers say that a prompt does not fit: OpenAI's code, Leaf's rule, vLLM's and SGLang's sentences. */
const CONTEXT_MARKERS = [
  "context_length_exceeded",
  "reduce the length",
  "maximum context length",
  "longer than the model's context length",
];

function isContextOverflow(message: string): boolean {
  const text = message.toLowerCase();
  return (
    CONTEXT_MARKERS.some((marker) => text.includes(marker)) ||
    (text.includes("context length") && text.includes("exceed"))
  );
}

/** What a refusal by status is. `message` = all that the server says of it. */
export function kindOfStatus(status: number, message: string): PolicyError["kind"] {
  if (isContextOverflow(message)) return "context";
  if (status === 404) return "not-served";
  return status >= 500 || status === 408 || status === 429 ? "unreachable" : "protocol";
}

export interface Ask {
  readonly method: "GET" | "POST";
  readonly body?: unknown;
  /** Until the reply is whole. */
  readonly seconds: number;
  readonly signal?: AbortSignal | undefined;
  readonly key: string | null;
}

/** As servers put it: OpenAI's `error.message`, FastAPI's `detail`, or a bare text. */
function messageIn(text: string): string {
  try {
    const { error, detail, message } = JSON.parse(text) as Record<string, unknown>;
    const said = (error as { message?: unknown } | null)?.message ?? error ?? detail ?? message;
    return typeof said === "string" ? said : JSON.stringify(said ?? text);
  } catch {
    return text.slice(0, 500);
  }
}

/**
 * A connection of its own for each request: a kept one that the server closes at the same moment would fail a turn. Node's fetch is no
 * choice here, since it gives up on headers after 300 s (https://undici.nodejs.org/#/docs/api/Client, `headersTimeout`).
 */
function send(
  url: string,
  { method, body, key }: Ask,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const options = {
      method,
      agent: false,
      signal,
      headers: {
        ...(content === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(content) }),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      },
    } as const;
    const onReply = (reply: IncomingMessage) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("error", reject);
      reply.on("end", () =>
        resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    };
    const made = url.startsWith("https:")
      ? httpsRequest(url, options, onReply)
      : httpRequest(url, options, onReply);
    made.on("error", reject);
    made.end(content);
  });
}

/** The body as it is. Throws PolicyError. */
export async function askText(url: string, ask: Ask): Promise<string> {
  const say = (kind: PolicyError["kind"], what: string, cause?: unknown) =>
    new PolicyError(kind, `${url}: ${what}`, { cause });
  const limit = AbortSignal.timeout(ask.seconds * 1000);
  let reply: { status: number; text: string };
  try {
    reply = await send(url, ask, ask.signal ? AbortSignal.any([ask.signal, limit]) : limit);
  } catch (error) {
    if (ask.signal?.aborted) throw say("aborted", "the caller gave up", error);
    if (limit.aborted) throw say("unreachable", `no whole reply in ${ask.seconds} s`, error);
    throw say("unreachable", error instanceof Error ? error.message : String(error), error);
  }
  const { status, text } = reply;
  if (status < 200 || status > 299) {
    const message = messageIn(text);
    throw say(kindOfStatus(status, message), `status ${status}: ${message}`);
  }
  return text;
}

/** The body as JSON; an empty one is null. Throws PolicyError. */
export async function askJson(url: string, ask: Ask): Promise<unknown> {
  const text = await askText(url, ask);
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PolicyError("protocol", `${url}: the reply is no JSON`, { cause: error });
  }
}
