/** Shapes of requests and answers, as the validator checks them and the OpenAPI document shows them. */
import { z } from "zod";
import { COST_GROUPINGS } from "../../core/cost.ts";
import { ABLATIONS } from "../../core/experiment.ts";
import { SKIPPABLE } from "../../core/steering.ts";
import {
  COUNT_LIMIT,
  FILTER_WORD,
  FILTERS,
  type Filter,
  type FilterValues,
  OVERLAPS,
  PAGE_LIMIT,
  SAMPLES_LIMIT,
} from "../control/index.ts";

/** Query parameters are text: digits alone, so that neither "" nor "1e3" is a number. */
export function whole(min: number, max: number) {
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,8})$/, `expected a whole number from ${min} to ${max}`)
    .meta({ type: "integer", minimum: min, maximum: max })
    .transform(Number)
    .pipe(z.number().min(min).max(max));
}

export const experimentName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    "expected at most 100 letters, digits, dots, hyphens and underscores, the first a letter or digit",
  );
export const byName = z.strictObject({ name: experimentName });

export const ofIteration = z.strictObject({
  iteration: whole(1, COUNT_LIMIT).optional().describe("Only that of one iteration."),
});

export const costQuery = z.strictObject({
  by: z.enum(COST_GROUPINGS).optional().describe("What its parts have in common; phase by default."),
});

const word = z.string().regex(FILTER_WORD);

const paging = {
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{14,1000}$/)
    .describe("`next` of the page before.")
    .optional(),
  limit: whole(1, PAGE_LIMIT).optional(),
};
type Paging = { readonly cursor?: string | undefined; readonly limit?: number | undefined };

function queryValue(filter: Filter): z.ZodType {
  if (filter.kind === "count") return whole(0, COUNT_LIMIT);
  return filter.kind === "choice" ? z.enum(filter.values) : word;
}

/** The parameters of a list with these filters. */
function queryOf<Filters extends Readonly<Record<string, Filter>>>(
  filters: Filters,
): z.ZodType<FilterValues<Filters> & Paging> {
  const shape = Object.entries(filters).map(([name, filter]) => [
    name,
    queryValue(filter).optional().describe(filter.description),
  ]);
  return z.strictObject({ ...Object.fromEntries(shape), ...paging }) as never;
}

export const queries = {
  experiments: queryOf(FILTERS.experiments),
  iterations: queryOf(FILTERS.iterations),
  tasks: queryOf(FILTERS.tasks),
  imports: queryOf(FILTERS.imports),
  rollouts: queryOf(FILTERS.rollouts),
  policies: queryOf(FILTERS.policies),
  evaluations: queryOf(FILTERS.evaluations),
  schedules: queryOf({}),
};

export const postHeaders = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, "expected 1 to 200 visible ASCII characters, new for each request")
    .describe("New for each request; the same again gives the same answer."),
});

export const pauseBody = z.strictObject({
  reason: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[^\0]*$/)
    .optional(),
});
/** No body at all: whatever phase is in hand. */
export const skipBody = z
  .strictObject({ phase: z.enum(SKIPPABLE).optional().describe("Refused where another one is in hand.") })
  .nullish();
export const amendBody = z.strictObject({
  path: z.string().max(200),
  value: z.union([z.number(), z.boolean()]),
});

const experiment = z
  .union([z.string().min(1), z.record(z.string(), z.unknown())])
  .describe(
    "Name of a bundled experiment, the YAML text of an experiment file, or its settings as an object.",
  );
const settingsOf = {
  experiment,
  seed: z.int().min(0).optional(),
  set: z.array(z.string()).max(100).optional().describe("Overrides, each path=value."),
};
export const startBody = z.strictObject({
  ...settingsOf,
  ablation: z.enum(ABLATIONS).optional().describe("What the experiment leaves out; its own by default."),
  name: experimentName.optional().describe("Needed unless the experiment is a bundled one."),
});

const policyOrLatest = word.describe("Id of the policy, or latest: the last that the experiment chose.");
export const evaluationBody = z.strictObject({
  experiment: experimentName,
  policy: policyOrLatest,
  set: word.describe("Name of the task set, as the experiment's settings call it."),
  samples: z.int().min(1).max(SAMPLES_LIMIT).optional().describe("Per task; the set's own by default."),
  temperature: z.number().min(0).max(1e6).optional().describe("The experiment's own by default."),
  greedy: z.boolean().optional().describe("Greedy decoding, one sample per task."),
  cold: z.boolean().optional().describe("Grade every rollout in a new process."),
});
export const trialBody = z
  .strictObject({
    experiment: experimentName
      .optional()
      .describe("Whose policy, limits and sampling; by default the latest that made the task."),
    policy: policyOrLatest.optional(),
    level: z.int().min(0).max(3).optional().describe("Of the statement; by default as it was probed last."),
    seed: z.int().min(0).max(0xffffffff).optional().describe("Another seed is another rollout."),
  })
  .nullish();
export const evaluationParams = z.strictObject({ name: experimentName, policy: word, set: word, mode: word });

export const scheduleName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/,
    "expected at most 80 letters, digits, dots, hyphens and underscores, the first a letter or digit",
  );
const text = z.string().min(1).max(500);
export const scheduleBody = z.strictObject({
  name: scheduleName.describe("Its runs are called <name>-<time>."),
  cron: text.optional().describe("Five to seven fields; either this or every."),
  every: text.optional().describe("A duration, as in 90s, 15m, 6h, 7d."),
  timeZone: text.optional().describe("IANA zone of cron; UTC by default."),
  overlap: z.enum(Object.keys(OVERLAPS) as [string, ...string[]]).optional(),
  catchUp: text.optional().describe("How late a missed time may still fire; 1h by default."),
  jitter: text.optional().describe("Puts each time off by a random part of this."),
  until: text.optional().describe("Ends the schedule once it holds, as in pass@1(heldout) >= 0.7."),
  work: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("run"), ...settingsOf }),
    z.strictObject({
      kind: z.literal("evaluate"),
      experiment: experimentName,
      policy: policyOrLatest,
      set: word,
    }),
  ]),
});
export const scheduleAnswer = z.looseObject({
  name: z.string(),
  paused: z.boolean(),
  when: z.string(),
  what: z.string(),
  next: z.array(z.string()),
});

/** `<experiment>/<iteration>/<try>`. */
export const tryKey = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\/[1-9][0-9]{0,8}\/[1-9][0-9]{0,8}$/,
    "expected <experiment>/<iteration>/<try>, as in quickstart-1/2/1",
  );

const problemShape = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  kind: z.string(),
  field: z.string().optional(),
});

const MEANING: Readonly<Record<number, string>> = {
  400: "The request has the wrong shape; `field` names where.",
  401: "No token, or one that is unknown or expired.",
  403: "The token lacks the scope, or the request comes from another site.",
  404: "Nothing of that name is on record.",
  409: "It conflicts with what is there, or is in progress.",
  410: "It is on record, its content was removed.",
  413: "The body is over 1 MB.",
  414: "A part of the path is too long.",
  415: "The body is not JSON.",
  422: "The values cannot be: settings, an amendment, a key that was used for another request.",
  429: "Too many requests.",
  500: "A failure; its cause is in the log.",
  503: "The database or Temporal does not answer.",
};

/** The problem documents a route can answer with. */
export function problems(...statuses: readonly number[]) {
  const all = new Set([400, 401, 403, ...statuses, 414, 422, 429, 500, 503]);
  return Object.fromEntries(
    [...all].map((status) => [
      status,
      { description: MEANING[status]!, content: { "application/problem+json": { schema: problemShape } } },
    ]),
  );
}
export const POST_PROBLEMS = [404, 409, 413, 415, 422] as const;

export const json = (schema: z.ZodType, description: string) => ({
  description,
  content: { "application/json": { schema } },
});

export const record = z.looseObject({});
export const pageOf = json(
  z.object({ items: z.array(record), next: z.string().nullable() }),
  "A page; `next` is the cursor of the one after it, null at the end.",
);
export const steering = json(
  z.looseObject({
    status: z.string(),
    hold: z.looseObject({ kind: z.string(), reason: z.string() }).nullable(),
    phase: z.string(),
    iteration: z.int(),
    try: z.int(),
    policy: z.string().nullable(),
    amendments: z.array(record),
    error: z.string().nullable().optional().describe("Of one that has ended: why."),
  }),
  "The state of the experiment.",
);
