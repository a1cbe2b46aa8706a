/** Experiments: start, list, inspect, follow. */
import { z } from "zod";
import type { Scope } from "../../../core/scope.ts";
import {
  codeVersion,
  diffTries,
  eventsAfter,
  experimentsPage,
  iterationsPage,
  showCost,
  showExperiment,
  showPools,
  startExperiment,
  steeringState,
} from "../../control/index.ts";
import { writeEvents } from "../events.ts";
import { once } from "../idempotency.ts";
import { ApiError } from "../problems.ts";
import {
  byName,
  costQuery,
  json,
  ofIteration,
  POST_PROBLEMS,
  pageOf,
  postHeaders,
  problems,
  queries,
  record,
  startBody,
  steering,
  tryKey,
} from "../schemas.ts";
import { readStart } from "../start.ts";
import type { Api, ApiContext } from "../types.ts";

const tags = ["experiments"];
const startedShape = z.object({ name: z.string(), started: z.string() });
/** One event of the stream; `data` is JSON. */
const eventShape = z.looseObject({
  event: z.string().optional(),
  id: z.string().optional(),
  data: z.string().optional(),
});
/** A browser opens few; each costs a query per second. */
const MOST_STREAMS = 32;

export function experimentRoutes(api: Api, context: ApiContext): void {
  const { session } = context;
  api.route({
    method: "POST",
    url: "/v1/experiments",
    config: { scope: "write" },
    schema: {
      tags,
      summary: "Start an experiment, or run one again that had failed or was stopped",
      headers: postHeaders,
      body: startBody,
      response: {
        200: json(startedShape, "It runs again, or had finished."),
        201: json(startedShape, "It is started."),
        ...problems(...POST_PROBLEMS),
      },
    },
    handler: (request, reply) =>
      once(session.db, request, reply, async ({ again }) => {
        const { name, settings } = await readStart(request.body);
        const started = await startExperiment(
          { ...session, codeVersion: await codeVersion() },
          name,
          settings,
        );
        if (started === "joined" && !again)
          throw new ApiError("running", `experiment "${name}" is running already`, "name");
        const fresh = started === "started" || started === "joined";
        const body = { name, started: fresh ? "started" : started };
        return { status: fresh ? 201 : 200, body, headers: { location: `/v1/experiments/${name}` } };
      }),
  });
  api.route({
    method: "GET",
    url: "/v1/experiments",
    schema: {
      tags,
      summary: "Experiments by name",
      querystring: queries.experiments,
      response: { 200: pageOf, ...problems() },
    },
    handler: ({ query: { cursor, limit, ...filters } }) =>
      experimentsPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name",
    schema: {
      tags,
      summary: "One experiment: evaluations, pools, policy, timings",
      params: byName,
      response: { 200: json(record, "As tadpole show --json writes it."), ...problems(404) },
    },
    handler: ({ params }) => showExperiment(session, params.name) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/pools",
    schema: {
      tags,
      summary: "Task pools: candidates by outcome, pass rates, kinds, novelty",
      params: byName,
      querystring: ofIteration,
      response: { 200: json(record, "As tadpole pool --json writes it."), ...problems(404) },
    },
    handler: ({ params, query }) => showPools(session, params.name, query.iteration) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/cost",
    schema: {
      tags,
      summary: "What it cost: tokens by class, sandbox time, money, and what for",
      params: byName,
      querystring: costQuery,
      response: { 200: json(record, "As tadpole cost --json writes it."), ...problems(404) },
    },
    handler: ({ params, query }) => showCost(session, params.name, query.by) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/state",
    schema: {
      tags,
      summary: "Where it stands: phase, hold, amendments",
      params: byName,
      response: { 200: steering, ...problems(404) },
    },
    handler: ({ params }) => steeringState(session, params.name) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/iterations",
    schema: {
      tags,
      summary: "Every try of every iteration",
      params: byName,
      querystring: queries.iterations,
      response: { 200: pageOf, ...problems(404) },
    },
    handler: ({ params, query: { cursor, limit, status } }) =>
      iterationsPage(session, { filters: { experiment: params.name, status }, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/diff",
    schema: {
      tags,
      summary: "Where two tries part, part by part",
      querystring: z.strictObject({ a: tryKey, b: tryKey }),
      response: {
        200: json(z.looseObject({ same: z.boolean() }), "As tadpole diff --json writes it."),
        ...problems(404, 410),
      },
    },
    handler: ({ query: { a, b } }) => diffTries(session, scopeOf(a), scopeOf(b)) as never,
  });
  eventsRoute(api, context);
}

function scopeOf(key: string): Scope {
  const [experiment = "", iteration, attempt] = key.split("/");
  return { experiment, iteration: Number(iteration), try: Number(attempt) };
}

function eventsRoute(api: Api, { session, closing, streamSeconds }: ApiContext): void {
  let streams = 0;
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/events",
    schema: {
      tags,
      summary: "Progress as server-sent events; Last-Event-ID goes on after an event",
      params: byName,
      headers: z.looseObject({
        "last-event-id": z
          .string()
          .regex(/^[A-Za-z0-9_-]{14,1000}$/)
          .optional(),
      }),
      response: {
        200: { description: "A stream.", content: { "text/event-stream": { schema: eventShape } } } as never,
        ...problems(404),
      },
    },
    handler: async (request, reply) => {
      const { name } = request.params;
      const from = request.headers["last-event-id"] || null;
      await eventsAfter(session, name, from as string | null);
      if (streams >= MOST_STREAMS) throw new ApiError("streams", `${MOST_STREAMS} streams are open already`);
      reply.hijack();
      const { raw } = reply;
      for (const [header, value] of Object.entries(reply.getHeaders())) raw.setHeader(header, value!);
      // A connection kept for later would keep the server from ending with the stream.
      raw.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        connection: "close",
      });
      if (request.method === "HEAD") return raw.end();
      const gone = new AbortController();
      raw.once("close", () => gone.abort());
      const signal = AbortSignal.any([gone.signal, closing, AbortSignal.timeout(streamSeconds * 1000)]);
      streams++;
      try {
        await writeEvents(session, name, from as string | null, raw, signal);
      } catch (error) {
        // The client comes again by itself, from the last event it has.
        request.log.warn({ err: error }, "a stream ended early");
      } finally {
        streams--;
        raw.end();
      }
    },
  });
}
