/** The inference server of the embedded policy: OpenAI's protocol on 127.0.0.1, `/weights` to publish policies, `/metrics` for Prometheus. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type AnswerBook, completeStandIn } from "../stand-in/complete.ts";
import { chatPrompt } from "./chat.ts";
import { openConversation } from "./conversation.ts";
import { createEngine, type EngineConversation } from "./engine.ts";
import { errorBody, RequestError } from "./errors.ts";
import { createServerMetrics, METRICS_CONTENT_TYPE, type ServerMetrics } from "./metrics.ts";
import { chatBody, completionBody } from "./replies.ts";
import { type Body, checkContext, parseBody, parseCommon, parseMessages, parsePrompt } from "./requests.ts";
import { openWeights, parseAnnouncement, type Weights } from "./weights.ts";

export interface PolicyServerOptions {
  /** Holds `weights.json`. */
  readonly folder: string;
  /** 0 = any free one. */
  readonly port: number;
  /** Completions in progress at most; further ones are told to come back. */
  readonly maxConcurrent?: number;
  /** Conversations kept; 0 = none. */
  readonly cachedPrefixes?: number;
  readonly loadedPolicies?: number;
  readonly maxBodyBytes?: number;
  /** What stand-ins know; absent = nothing. */
  readonly answers?: AnswerBook;
}

export interface PolicyServer {
  /** Root address, without `/v1`. */
  readonly url: string;
  /** Open requests are answered first. */
  close(): Promise<void>;
}

const DEFAULTS = {
  /** Beyond the rollouts any stack runs at once. */
  maxConcurrent: 512,
  /** One per rollout in progress, and its group's shared prompt. */
  cachedPrefixes: 512,
  loadedPolicies: 64,
  /** A prompt of the longest context, as JSON. */
  maxBodyBytes: 4 * 2 ** 20,
  answers: async () => null,
} satisfies Partial<PolicyServerOptions>;

async function readBody(request: IncomingMessage, limit: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Refusing a body must leave the connection open for the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limit) throw new RequestError(413, "too_large", `the body has more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return parseBody(Buffer.concat(chunks).toString("utf8"));
}

/** An object goes as JSON, a text as Prometheus reads it. */
function send(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: Record<string, string> = {},
) {
  const text = typeof body === "string";
  const bytes = Buffer.from(text ? body : JSON.stringify(body));
  response.writeHead(status, {
    "content-type": text ? METRICS_CONTENT_TYPE : "application/json",
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}

type Route = (request: IncomingMessage) => Promise<object | string>;

function createRoutes(
  options: Required<Omit<PolicyServerOptions, "folder" | "port">>,
  weights: Weights,
  metrics: ServerMetrics,
) {
  const engine = createEngine(openConversation as () => EngineConversation, options.cachedPrefixes);
  let active = 0;

  /** Completions are counted from their first byte to their answer. */
  const counted = async (
    request: IncomingMessage,
    answer: (body: Body) => Promise<object>,
  ): Promise<object> => {
    if (active >= options.maxConcurrent)
      throw new RequestError(503, "overloaded", `${active} completions are in progress already`);
    active++;
    try {
      return await answer(await readBody(request, options.maxBodyBytes));
    } finally {
      active--;
    }
  };

  const answer = async (body: Body, prompt: Int32Array) => {
    const { model, maxTokens, sampling, seed } = parseCommon(body);
    checkContext(prompt.length);
    const served = await weights.get(model);
    const reply =
      served.kind === "stand-in"
        ? await completeStandIn({ prompt, maxTokens, seed }, served, options.answers)
        : engine.complete({ prompt, maxTokens, sampling, seed, weights: served.weights });
    metrics.tokens(prompt.length, reply.tokens.length);
    // A long list of ids goes back as it came: copying it costs more than the reply.
    return { policy: model, prompt: Array.isArray(body.prompt) ? (body.prompt as number[]) : prompt, reply };
  };

  const asked = (body: Body, field: string) =>
    body[field] !== undefined && body[field] !== null && body[field] !== false;

  const routes: Readonly<Record<string, Route>> = {
    "POST /v1/completions": (request) =>
      counted(request, async (body) =>
        completionBody(
          await answer(body, parsePrompt(body.prompt)),
          asked(body, "logprobs"),
          asked(body, "return_token_ids"),
        ),
      ),
    "POST /v1/chat/completions": (request) =>
      counted(request, async (body) =>
        chatBody(
          await answer(body, chatPrompt(parseMessages(body.messages))),
          asked(body, "logprobs"),
          asked(body, "return_token_ids"),
        ),
      ),
    "GET /v1/models": async () => ({
      object: "list",
      data: weights.list().map(({ id }) => ({ id, object: "model", created: 0, owned_by: "tadpole" })),
    }),
    "GET /health": async () => ({ status: "ok", active, policies: weights.list().length }),
    "GET /metrics": async () => metrics.text({ active, policies: weights.list().length }),
    "GET /weights": async () => ({ policies: weights.list().map(({ id, sha256 }) => ({ id, sha256 })) }),
    "POST /weights": async (request) => {
      const announced = parseAnnouncement(await readBody(request, options.maxBodyBytes));
      await weights.add(announced);
      return { id: announced.id, sha256: announced.sha256 };
    },
  };
  return routes;
}

function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  return new RequestError(500, "internal", error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

async function handle(
  routes: Readonly<Record<string, Route>>,
  metrics: ServerMetrics,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const started = performance.now();
  const path = (request.url ?? "/").split("?")[0]!;
  const name = `${request.method} ${path}`;
  const route = Object.hasOwn(routes, name) ? routes[name]! : null;
  response.once("finish", () =>
    metrics.request(route ? path : "other", response.statusCode, (performance.now() - started) / 1000),
  );
  try {
    if (!route) throw new RequestError(404, "not_found", `${name}: no such route`);
    send(response, 200, await route(request));
  } catch (thrown) {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const error = asRequestError(thrown);
    // Whoever sent too much has not been read to the end: the connection cannot be used again.
    const headers: Record<string, string> = error.status === 413 ? { connection: "close" } : {};
    send(response, error.status, errorBody(error), error.status === 503 ? { "retry-after": "1" } : headers);
  }
}

/** Listens on 127.0.0.1. Throws when the folder's list is damaged or the port is taken. */
export async function createPolicyServer(options: PolicyServerOptions): Promise<PolicyServer> {
  const settings = { ...DEFAULTS, ...options };
  const weights = await openWeights(options.folder, settings.loadedPolicies);
  const metrics = createServerMetrics();
  const routes = createRoutes(settings, weights, metrics);
  const server: Server = createServer((request, response) => void handle(routes, metrics, request, response));
  // Longer than clients keep a connection unused, so that it is theirs to close.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}
