/** Shapes of requests and answers, as the validator checks them and the OpenAPI document shows them. */
import { z } from "zod";
import { PAGE_LIMIT } from "../control/pages.ts";

/** Query parameters are text: digits alone, so that neither "" nor "1e3" is a number. */
export function whole(min: number, max: number) {
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,8})$/, `expected a whole number from ${min} to ${max}`)
    .meta({ type: "integer", minimum: min, maximum: max })
    .transform(Number)
    .pipe(z.number().min(min).max(max));
}

const word = (description: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9@._-]{0,199}$/)
    .describe(description);

export const experimentName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    "expected at most 100 letters, digits, dots, hyphens and underscores, the first a letter or digit",
  );
export const byName = z.strictObject({ name: experimentName });

const paging = {
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{14,1000}$/)
    .describe("`next` of the page before.")
    .optional(),
  limit: whole(1, PAGE_LIMIT).optional(),
};
const count = whole(0, 999_999_999).optional();
const filter = (description: string) => word(description).optional();

export const queries = {
  experiments: z.strictObject({ status: filter("running, done, failed, stopped"), ...paging }),
  iterations: z.strictObject({ status: filter("Status of the try."), ...paging }),
  tasks: z.strictObject({
    experiment: experimentName.optional(),
    iteration: count,
    environment: filter("Name or key of the environment."),
    type: filter("bug or feature"),
    generator: filter("mutation or removal"),
    ...paging,
  }),
  rollouts: z.strictObject({
    experiment: experimentName.optional(),
    iteration: count,
    try: count,
    phase: filter("probe, climb, evaluation"),
    policy: filter("Id of the policy that was sampled."),
    task: filter("Id of the task."),
    outcome: filter("passed, failed, …"),
    environment: filter("Name or key of the environment."),
    ...paging,
  }),
  policies: z.strictObject({ kind: filter("nano"), parent: filter("Id of the parent."), ...paging }),
  evaluations: z.strictObject({
    experiment: experimentName.optional(),
    iteration: count,
    policy: filter("Id of the policy."),
    set: filter("Name of the task set."),
    mode: filter("sampled, greedy, …"),
    ...paging,
  }),
};

export const postHeaders = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, "expected 1 to 200 visible ASCII characters, new for each request")
    .describe("New for each request; the same again gives the same answer."),
});

export const startBody = z.strictObject({
  experiment: z
    .union([z.string().min(1), z.record(z.string(), z.unknown())])
    .describe(
      "Name of a bundled experiment, the YAML text of an experiment file, or its settings as an object.",
    ),
  name: experimentName.optional().describe("Needed unless the experiment is a bundled one."),
  seed: z.int().min(0).optional(),
  set: z.array(z.string()).max(100).optional().describe("Overrides, each path=value."),
});
export const pauseBody = z.strictObject({
  reason: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[^\0]*$/)
    .optional(),
});
export const amendBody = z.strictObject({
  path: z.string().max(200),
  value: z.union([z.number(), z.boolean()]),
});

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
  }),
  "The state of the experiment.",
);
