/** Steering and replay: each POST's Idempotency-Key is the request id of what it asks. */
import { z } from "zod";
import type { ExperimentSettings } from "../../../core/experiment.ts";
import { REPLAY_PHASES } from "../../../core/reuse.ts";
import type { ExperimentSteering } from "../../../core/steering.ts";
import {
  amendExperiment,
  pauseExperiment,
  planReplay,
  resumeExperiment,
  skipPhase,
  startReplay,
  stopExperiment,
} from "../../control/index.ts";
import { broughtBy, checkBrought } from "../brought.ts";
import { once } from "../idempotency.ts";
import {
  amendBody,
  byName,
  experimentName,
  json,
  POST_PROBLEMS,
  pauseBody,
  postHeaders,
  problems,
  record,
  skipBody,
  steering,
  whole,
} from "../schemas.ts";
import type { Api, ApiContext } from "../types.ts";

const SIMPLE = {
  resume: { summary: "End the hold, whatever its reason", run: resumeExperiment },
  stop: { summary: "Select the best checkpoint so far and finish", run: stopExperiment },
};

export function steeringRoutes(api: Api, { session }: ApiContext): void {
  const common = {
    tags: ["steering"],
    params: byName,
    headers: postHeaders,
    response: { 200: steering, ...problems(...POST_PROBLEMS) },
  };
  const answered = async (state: Promise<ExperimentSteering>) => ({ status: 200, body: await state });
  for (const [verb, { summary, run }] of Object.entries(SIMPLE))
    api.route({
      method: "POST",
      url: `/v1/experiments/:name/${verb}`,
      config: { scope: "write" },
      schema: { ...common, summary },
      handler: (request, reply) =>
        once(session.db, request, reply, (key) =>
          answered(run(session, request.params.name, { request: key.request })),
        ),
    });
  api.route({
    method: "POST",
    url: "/v1/experiments/:name/pause",
    config: { scope: "write" },
    schema: { ...common, summary: "Hold it: nothing new begins until a resume", body: pauseBody },
    handler: (request, reply) =>
      once(session.db, request, reply, (key) => {
        const { reason = "paused over HTTP" } = request.body;
        return answered(pauseExperiment(session, request.params.name, { request: key.request, reason }));
      }),
  });
  api.route({
    method: "POST",
    url: "/v1/experiments/:name/skip",
    config: { scope: "write" },
    schema: { ...common, summary: "End the current phase with what it has", body: skipBody },
    handler: (request, reply) =>
      once(session.db, request, reply, (key) => {
        const phase = request.body?.phase;
        const asked = { request: key.request, ...(phase === undefined ? {} : { phase }) };
        return answered(skipPhase(session, request.params.name, asked));
      }),
  });
  api.route({
    method: "POST",
    url: "/v1/experiments/:name/amend",
    config: { scope: "write" },
    schema: {
      ...common,
      summary: "Change an amendable setting, most from the next iteration on",
      body: amendBody,
    },
    handler: (request, reply) =>
      once(session.db, request, reply, (key) =>
        answered(amendExperiment(session, request.params.name, { request: key.request, ...request.body })),
      ),
  });
  api.route({
    method: "POST",
    url: "/v1/experiments/:name/iterations/:iteration/replay",
    config: { scope: "write" },
    schema: {
      ...common,
      summary: "A further try of an iteration; dryRun tells what it would re-use",
      params: z.strictObject({ name: experimentName, iteration: whole(0, 999_999_999) }),
      body: z.strictObject({
        dryRun: z.boolean().optional(),
        from: z.enum(REPLAY_PHASES).nullable().optional(),
        with: z.array(z.string()).max(100).optional().describe("Overrides, each path=value."),
        continue: z.boolean().optional().describe("Run the later iterations again, too."),
      }),
      response: {
        200: json(record, "The plan."),
        202: json(record, "The try that began, and its plan."),
        ...problems(...POST_PROBLEMS),
      },
    },
    handler: (request, reply) =>
      once(session.db, request, reply, async (key) => {
        const { name, iteration } = request.params;
        const { dryRun = false, from = null, with: overrides = [] } = request.body;
        const options = {
          from,
          with: overrides,
          continue: request.body.continue ?? false,
          check: (settings: ExperimentSettings) => checkBrought(settings, "with", broughtBy(overrides)),
        };
        return dryRun
          ? { status: 200, body: await planReplay(session, name, iteration, options) }
          : {
              status: 202,
              body: await startReplay(session, name, iteration, { ...options, request: key.request }),
            };
      }),
  });
}
