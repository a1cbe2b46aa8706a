/** What is on record, for reading: tasks, rollouts, policies, evaluations; and whether the record answers. */
import { sql } from "kysely";
import { z } from "zod";
import { getPolicy, showRollout, showTask } from "../../../services/store/index.ts";
import { evaluationsPage, policiesPage, rolloutsPage, tasksPage } from "../../control/pages.ts";
import { json, pageOf, problems, queries, record } from "../schemas.ts";
import type { Api, ApiContext } from "../types.ts";

const byId = z.strictObject({ id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/) });
const byKey = z.strictObject({
  key: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]*(\/[A-Za-z0-9._@+-]+)+$/)
    .max(500)
    .describe("Key of the rollout, its slashes written as %2F."),
});

export function recordRoutes(api: Api, { session }: ApiContext): void {
  const page = { 200: pageOf, ...problems() };
  const one = (what: string) => ({ 200: json(record, what), ...problems(404) });
  api.route({
    method: "GET",
    url: "/v1/tasks",
    schema: { tags: ["tasks"], summary: "Tasks by id", querystring: queries.tasks, response: page },
    handler: ({ query: { cursor, limit = 50, ...filters } }) =>
      tasksPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/tasks/:id",
    schema: {
      tags: ["tasks"],
      summary: "A task with its statements, gates and probes",
      params: byId,
      response: one("As tadpole task show --json writes it."),
    },
    handler: ({ params }) => showTask(session.db, session.artifacts, params.id) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/rollouts",
    schema: { tags: ["rollouts"], summary: "Rollouts by key", querystring: queries.rollouts, response: page },
    handler: ({ query: { cursor, limit = 50, ...filters } }) =>
      rolloutsPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/rollouts/:key",
    schema: {
      tags: ["rollouts"],
      summary: "A rollout: its trajectory, its change, its verdict",
      params: byKey,
      response: one("As tadpole rollout show --json writes it."),
    },
    handler: ({ params }) => showRollout(session.db, session.artifacts, params.key) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/policies",
    schema: { tags: ["policies"], summary: "Policies by id", querystring: queries.policies, response: page },
    handler: ({ query: { cursor, limit = 50, ...filters } }) =>
      policiesPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/policies/:id",
    schema: {
      tags: ["policies"],
      summary: "A policy: its parent, step and checkpoint",
      params: byId,
      response: one("As tadpole policy show --json writes it."),
    },
    handler: ({ params }) => getPolicy(session.db, params.id) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/evaluations",
    schema: {
      tags: ["evaluations"],
      summary: "Evaluations by key",
      querystring: queries.evaluations,
      response: page,
    },
    handler: ({ query: { cursor, limit = 50, ...filters } }) =>
      evaluationsPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/health",
    config: { public: true },
    schema: {
      tags: ["health"],
      summary: "Whether the database and Temporal answer",
      security: [],
      response: { 200: json(z.object({ status: z.literal("ok") }), "They do."), ...problems() },
    },
    handler: async () => {
      await sql`select 1`.execute(session.db);
      await session.client.connection.ensureConnected();
      return { status: "ok" as const };
    },
  });
}
