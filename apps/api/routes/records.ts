/** What is on record, for reading: tasks, rollouts and policies; and whether the record answers. */
import { sql } from "kysely";
import { z } from "zod";
import {
  exportPolicy,
  importsPage,
  listServed,
  policiesPage,
  removeImported,
  rolloutsPage,
  showImport,
  showPolicy,
  showRollout,
  showTask,
  startTrial,
  tasksPage,
} from "../../control/index.ts";
import { once } from "../idempotency.ts";
import {
  json,
  POST_PROBLEMS,
  pageOf,
  postHeaders,
  problems,
  queries,
  record,
  trialBody,
} from "../schemas.ts";
import type { Api, ApiContext } from "../types.ts";

const trialShape = z.strictObject({
  task: z.string(),
  experiment: z.string(),
  policy: z.string(),
  level: z.int(),
  seed: z.int(),
  rollout: z.string().describe("Its key."),
});
const byId = z.strictObject({ id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/) });
const byImport = z.strictObject({ key: z.string().regex(/^i[0-9a-f]{16}$/) });
const byImported = z.strictObject({
  key: z
    .string()
    .regex(/^[it][0-9a-f]{16}$/)
    .describe("Key of an import, or id of a task that was made of one."),
});
const byKey = z.strictObject({
  key: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]*(\/[A-Za-z0-9._@+-]+)+$/)
    .max(500)
    .describe("Key of the rollout, its slashes written as %2F."),
});

export function recordRoutes(api: Api, { session }: ApiContext): void {
  const page = { 200: pageOf, ...problems() };
  const one = (what: string) => ({ 200: json(record, what), ...problems(404, 410) });
  api.route({
    method: "GET",
    url: "/v1/tasks",
    schema: { tags: ["tasks"], summary: "Tasks by id", querystring: queries.tasks, response: page },
    handler: ({ query: { cursor, limit, ...filters } }) =>
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
    handler: ({ params }) => showTask(session, params.id) as never,
  });
  api.route({
    method: "POST",
    url: "/v1/tasks/:id/tries",
    config: { scope: "write" },
    schema: {
      tags: ["tasks"],
      summary: "Run one rollout of a task; Location is where it is once it has ended",
      params: byId,
      headers: postHeaders,
      body: trialBody,
      response: {
        202: json(trialShape, "It is started, or was before."),
        ...problems(...POST_PROBLEMS),
      },
    },
    handler: (request, reply) =>
      once(session.db, request, reply, async () => {
        const body = await startTrial(session, { ...request.body, task: request.params.id });
        const location = `/v1/rollouts/${encodeURIComponent(body.rollout)}`;
        return { status: 202, body, headers: { location } };
      }),
  });
  api.route({
    method: "GET",
    url: "/v1/imports",
    schema: {
      tags: ["tasks"],
      summary: "Imported tasks by key",
      querystring: queries.imports,
      response: page,
    },
    handler: ({ query: { cursor, limit, ...filters } }) =>
      importsPage(session, { filters, cursor, limit }) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/imports/:key",
    schema: {
      tags: ["tasks"],
      summary: "An imported task as it was read",
      params: byImport,
      response: one("As tadpole imports show --json writes it."),
    },
    handler: ({ params }) => showImport(session, params.key) as never,
  });
  api.route({
    method: "DELETE",
    url: "/v1/imports/:key",
    config: { scope: "write" },
    schema: {
      tags: ["tasks"],
      summary: "Remove an import, or a task made of one that nothing uses",
      params: byImported,
      response: { 200: json(record, "As tadpole imports remove --json writes it."), ...problems(404, 409) },
    },
    handler: ({ params }) => removeImported(session, params.key) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/rollouts",
    schema: { tags: ["rollouts"], summary: "Rollouts by key", querystring: queries.rollouts, response: page },
    handler: ({ query: { cursor, limit, ...filters } }) =>
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
    handler: ({ params }) => showRollout(session, params.key) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/engines",
    schema: {
      tags: ["policies"],
      summary: "What each inference engine serves, since when, and why one is out",
      response: { 200: json(record, "As tadpole engines --json writes it."), ...problems() },
    },
    handler: () => listServed(session) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/policies",
    schema: { tags: ["policies"], summary: "Policies by id", querystring: queries.policies, response: page },
    handler: ({ query: { cursor, limit, ...filters } }) =>
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
    handler: ({ params }) => showPolicy(session, params.id) as never,
  });
  api.route({
    method: "GET",
    url: "/v1/policies/:id/checkpoint",
    schema: {
      tags: ["policies"],
      summary: "The weights of a policy",
      params: byId,
      response: {
        200: {
          description: "A safetensors file.",
          content: { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } },
        } as never,
        ...problems(404, 410),
      },
    },
    handler: async ({ params }, reply) =>
      reply
        .type("application/octet-stream")
        .header("content-disposition", `attachment; filename="${params.id}.safetensors"`)
        .send(Buffer.from(await exportPolicy(session, params.id)) as never),
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
