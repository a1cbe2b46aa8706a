/** Schedules: made paused, so that a client sees the next times before it resumes them. */
import { z } from "zod";
import {
  createSchedule,
  deleteSchedule,
  type NewSchedule,
  pauseSchedule,
  resumeSchedule,
  type ScheduledWork,
  ScheduleError,
  schedulesPage,
  showSchedule,
  triggerSchedule,
} from "../../control/index.ts";
import { once } from "../idempotency.ts";
import {
  json,
  POST_PROBLEMS,
  pageOf,
  postHeaders,
  problems,
  queries,
  scheduleAnswer,
  scheduleBody,
  scheduleName,
} from "../schemas.ts";
import { readSettings } from "../start.ts";
import type { Api, ApiContext } from "../types.ts";

const tags = ["schedules"];
const params = z.strictObject({ schedule: scheduleName });
const CHANGES = {
  pause: {
    summary: "Nothing fires until it is resumed; a run that goes on is not touched",
    run: pauseSchedule,
  },
  resume: { summary: "Start a paused schedule", run: resumeSchedule },
  trigger: { summary: "One run now, by its own overlap policy", run: triggerSchedule },
};

export function scheduleRoutes(api: Api, { session }: ApiContext): void {
  const answer = json(scheduleAnswer, "As tadpole schedule show --json writes it.");
  api.route({
    method: "GET",
    url: "/v1/schedules",
    schema: {
      tags,
      summary: "Schedules by name",
      querystring: queries.schedules,
      response: { 200: pageOf, ...problems() },
    },
    handler: ({ query: { cursor, limit } }) =>
      schedulesPage(session, { filters: {}, cursor, limit }) as never,
  });
  api.route({
    method: "POST",
    url: "/v1/schedules",
    config: { scope: "write" },
    schema: {
      tags,
      summary: "Make a schedule: paused, with the next times it would fire",
      headers: postHeaders,
      body: scheduleBody,
      response: { 201: answer, ...problems(...POST_PROBLEMS) },
    },
    handler: (request, reply) =>
      once(session.db, request, reply, async ({ again }) => {
        const { work, ...times } = request.body;
        const made = await createSchedule(session, {
          ...(times as Omit<NewSchedule, "work">),
          work: await workOf(work),
        }).catch((error: unknown) => {
          // The process that made it died before it could say so.
          if (again && error instanceof ScheduleError && error.kind === "conflict")
            return showSchedule(session, times.name);
          throw error;
        });
        return { status: 201, body: made, headers: { location: `/v1/schedules/${made.name}` } };
      }),
  });
  api.route({
    method: "GET",
    url: "/v1/schedules/:schedule",
    schema: {
      tags,
      summary: "One schedule: its next times, its latest runs",
      params,
      response: { 200: answer, ...problems(404) },
    },
    handler: ({ params }) => showSchedule(session, params.schedule) as never,
  });
  api.route({
    method: "DELETE",
    url: "/v1/schedules/:schedule",
    config: { scope: "write" },
    schema: {
      tags,
      summary: "Remove a schedule; its runs and their experiments stay",
      params,
      response: { 204: z.never().describe("It is gone."), ...problems(404) },
    },
    handler: async ({ params }, reply) => {
      await deleteSchedule(session, params.schedule);
      return reply.code(204).send();
    },
  });
  for (const [verb, { summary, run }] of Object.entries(CHANGES))
    api.route({
      method: "POST",
      url: `/v1/schedules/:schedule/${verb}`,
      config: { scope: "write" },
      schema: {
        tags,
        summary,
        params,
        headers: postHeaders,
        response: { 200: answer, ...problems(...POST_PROBLEMS) },
      },
      handler: (request, reply) =>
        once(session.db, request, reply, async () => ({
          status: 200,
          body: await run(session, request.params.schedule),
        })),
    });
}

async function workOf(work: z.infer<typeof scheduleBody>["work"]): Promise<ScheduledWork> {
  if (work.kind === "evaluate") return work;
  const { settings, source } = await readSettings(work);
  return { kind: "run", source, settings };
}
