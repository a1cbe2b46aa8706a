/** Evaluations: those on record, and new ones of any policy on any of an experiment's task sets. */
import { z } from "zod";
import { evaluationState, evaluationsPage, startEvaluation } from "../../control/index.ts";
import { once } from "../idempotency.ts";
import {
  evaluationBody,
  evaluationParams,
  json,
  POST_PROBLEMS,
  pageOf,
  postHeaders,
  problems,
  queries,
  record,
} from "../schemas.ts";
import type { Api, ApiContext } from "../types.ts";

const tags = ["evaluations"];
const id = { experiment: z.string(), policy: z.string(), set: z.string(), mode: z.string() };
const stateShape = z.strictObject({
  ...id,
  status: z.enum(["running", "done", "failed"]),
  result: record.nullable(),
  error: z.string().nullable(),
});

export function evaluationRoutes(api: Api, { session }: ApiContext): void {
  api.route({
    method: "GET",
    url: "/v1/evaluations",
    schema: {
      tags,
      summary: "Evaluations by key",
      querystring: queries.evaluations,
      response: { 200: pageOf, ...problems() },
    },
    handler: ({ query: { cursor, limit, ...filters } }) =>
      evaluationsPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "POST",
    url: "/v1/evaluations",
    config: { scope: "write" },
    schema: {
      tags,
      summary: "Measure a policy on a task set of an experiment; Location tells how far it is",
      headers: postHeaders,
      body: evaluationBody,
      response: {
        202: json(z.strictObject(id), "It is started, or runs already."),
        ...problems(...POST_PROBLEMS),
      },
    },
    handler: (request, reply) =>
      once(session.db, request, reply, async () => {
        const body = await startEvaluation(session, request.body);
        const { experiment, policy, set, mode } = body;
        const location = `/v1/experiments/${experiment}/evaluations/${policy}/${set}/${mode}`;
        return { status: 202, body, headers: { location } };
      }),
  });
  api.route({
    method: "GET",
    url: "/v1/experiments/:name/evaluations/:policy/:set/:mode",
    schema: {
      tags,
      summary: "How far an evaluation is, and its result",
      params: evaluationParams,
      response: { 200: json(stateShape, "Its state."), ...problems(404) },
    },
    handler: ({ params: { name, ...rest } }) =>
      evaluationState(session, { experiment: name, ...rest }) as never,
  });
}
