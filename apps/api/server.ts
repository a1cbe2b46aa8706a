/** The HTTP face: Fastify with what holds for every request (tokens, limits, ids, problems), and the routes. */
import { randomUUID } from "node:crypto";
import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from "fastify-type-provider-zod";
import type { Session } from "../control/index.ts";
import { refuseDeep } from "./depth.ts";
import { Methods } from "./methods.ts";
import { type Problem, problem, problemOf, retryAfter } from "./problems.ts";
import { evaluationRoutes } from "./routes/evaluations.ts";
import { experimentRoutes } from "./routes/experiments.ts";
import { recordRoutes } from "./routes/records.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { steeringRoutes } from "./routes/steering.ts";
import { foreign, refusal, type Token } from "./tokens.ts";
import type { Api } from "./types.ts";

export interface ApiOptions {
  /** None: only for loopback. */
  readonly tokens: readonly Token[];
  readonly requestsPerMinute: number;
  readonly streamSeconds: number;
  readonly version: string;
  /** Lines of the log; null = none. */
  readonly log: { write(line: string): void } | null;
}

const BODY_BYTES = 1024 * 1024;
/** Keys of rollouts are the longest. */
const PARAM_CHARACTERS = 1000;

export async function createApi(
  session: Pick<Session, "db" | "client" | "artifacts">,
  options: ApiOptions,
): Promise<Api> {
  const closing = new AbortController();
  const methods = new Methods();
  const api = Fastify({
    logger:
      options.log === null
        ? false
        : {
            stream: options.log,
            // Headers stay out: they carry tokens.
            serializers: {
              req: ({ method, url, ip }) => ({ method, url: url.split("?")[0] ?? "", remoteAddress: ip }),
            },
          },
    bodyLimit: BODY_BYTES,
    routerOptions: { maxParamLength: PARAM_CHARACTERS },
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
    },
    forceCloseConnections: "idle",
    requestTimeout: 60_000,
    frameworkErrors: (error, request, reply) =>
      send(request as FastifyRequest, reply as never, problemOf(error)),
    clientErrorHandler: (error, socket) => {
      if ((error as NodeJS.ErrnoException).code === "ECONNRESET" || !socket.writable) return;
      const body = JSON.stringify(problem(400, "request", "not an HTTP request"));
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    },
  }).withTypeProvider<ZodTypeProvider>();
  api.setValidatorCompiler(validatorCompiler);
  api.setSerializerCompiler(serializerCompiler);
  // A form of another site can send text without asking; JSON it cannot.
  api.removeContentTypeParser("text/plain");
  api.addHook("onRoute", ({ url, method }) => methods.add(url, method));
  api.addHook("preClose", (done) => {
    closing.abort();
    done();
  });
  api.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
    const path = request.url.split("?")[0]!;
    const allowed = request.is404 ? methods.allowed(path) : null;
    if (allowed === null) return;
    // Before a body is asked for: a method that is not there needs none.
    reply.header("allow", allowed);
    if (request.method === "OPTIONS") return reply.code(204).send();
    return send(request, reply, problem(405, "request", `${path} has ${allowed}`));
  });
  api.addHook("preParsing", async (request) => {
    const { host, origin, authorization } = request.headers;
    const { url = "", config } = request.routeOptions;
    if (options.tokens.length === 0) {
      const refused = foreign(host, origin);
      if (refused !== null) throw refused;
    }
    if (config.public === true || url.startsWith("/docs")) return;
    const refused = refusal(options.tokens, authorization, config.scope ?? "read", Date.now());
    if (refused !== null) throw refused;
  });
  api.addHook("preValidation", async ({ body }) => refuseDeep(body));
  api.setErrorHandler((error, request, reply) => {
    const found = problemOf(error);
    if (found.status >= 500) request.log.error({ err: error }, "a request failed");
    return send(request, reply, found);
  });
  await api.register(rateLimit, {
    max: options.requestsPerMinute,
    timeWindow: 60_000,
    errorResponseBuilder: (_request, { ttl }) =>
      Object.assign(new Error(`too many requests: again in ${Math.ceil(ttl / 1000)} s`), { statusCode: 429 }),
  });
  api.setNotFoundHandler({ preHandler: api.rateLimit() }, (request, reply) => {
    return send(request, reply, problem(404, "request", `there is no ${request.url.split("?")[0]}`));
  });
  await api.register(swagger, {
    openapi: {
      openapi: "3.1.1",
      info: {
        title: "Tadpole",
        version: options.version,
        description: "Start, follow, steer and replay training experiments.",
      },
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      ...(options.tokens.length > 0 ? { security: [{ token: [] }] } : {}),
    },
    transform: jsonSchemaTransform,
  });
  await api.register(swaggerUi, { routePrefix: "/docs" });
  const context = { session, closing: closing.signal, streamSeconds: options.streamSeconds };
  experimentRoutes(api, context);
  steeringRoutes(api, context);
  recordRoutes(api, context);
  evaluationRoutes(api, context);
  scheduleRoutes(api, context);
  api.get(
    "/openapi.json",
    { config: { public: true }, schema: { hide: true } },
    () => api.swagger() as never,
  );
  await api.ready();
  return api;
}

function send(request: FastifyRequest, reply: FastifyReply, found: Problem): FastifyReply {
  const after = retryAfter(found);
  if (after !== null && !reply.hasHeader("retry-after")) reply.header("retry-after", after);
  if (found.status === 401) reply.header("www-authenticate", 'Bearer realm="tadpole"');
  return reply
    .code(found.status)
    .header("x-request-id", request.id)
    .type("application/problem+json")
    .send(JSON.stringify(found));
}
