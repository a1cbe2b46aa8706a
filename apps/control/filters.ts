/** The filters that each list of the record has: every face makes its parameters of these. Nothing heavy is imported here. */
import { IMPORT_FORMATS } from "../../core/formats.ts";
import { POLICY_KINDS } from "../../core/policy.ts";
import { EXPERIMENT_STATUSES, GROUP_PHASES, ITERATION_STATUSES, TASK_OUTCOMES } from "../../core/statuses.ts";
import { GENERATORS, TASK_TYPES, VERDICT_OUTCOMES } from "../../core/task.ts";
import type {
  EvaluationFilters,
  ExperimentFilters,
  ImportFilters,
  IterationFilters,
  PolicyFilters,
  RolloutFilters,
  TaskFilters,
} from "../../services/store/pages.ts";
import { PageError } from "./cursors.ts";

export const PAGE_LIMIT = 200;
export const PAGE_DEFAULT = 50;
/** Largest number that a filter may name. */
export const COUNT_LIMIT = 999_999_999;

/** `word`: a name, key or id of the record; `count`: a whole number from 0 on; `choice`: one of the words that the record has. */
export type Filter =
  | { readonly kind: "word" | "count"; readonly description: string }
  | {
      readonly kind: "choice";
      readonly description: string;
      readonly values: readonly [string, ...string[]];
    };
export type FilterValues<Filters> = {
  readonly [Name in keyof Filters]?: (Filters[Name] extends { kind: "count" } ? number : string) | undefined;
};

export const FILTER_WORD = /^[A-Za-z0-9][A-Za-z0-9@._-]{0,199}$/;

/** Exactly the filters that the query has. */
type FiltersOf<Query> = { readonly [Name in keyof Required<Query>]: Filter };

const word = (description: string) => ({ kind: "word", description }) as const;
const count = (description: string) => ({ kind: "count", description }) as const;
const choice = (what: string, values: readonly [string, ...string[]]) =>
  ({ kind: "choice", description: `${what}: ${values.join(", ")}.`, values }) as const;
const experiment = word("Name of the experiment.");
const iteration = count("Number of the iteration.");
const environment = word("Name or key of the environment.");

export const FILTERS = {
  experiments: { status: choice("Status", EXPERIMENT_STATUSES) } satisfies FiltersOf<ExperimentFilters>,
  iterations: { status: choice("Status of the try", ITERATION_STATUSES) } satisfies FiltersOf<
    Omit<IterationFilters, "experiment">
  >,
  tasks: {
    experiment,
    iteration,
    environment,
    type: choice("Type", TASK_TYPES),
    generator: choice("What it was made by", [...GENERATORS, "import"]),
    outcome: choice("What probing came to", TASK_OUTCOMES),
  } satisfies FiltersOf<TaskFilters>,
  imports: { format: choice("Format", IMPORT_FORMATS) } satisfies FiltersOf<ImportFilters>,
  rollouts: {
    experiment,
    iteration,
    try: count("Number of the try."),
    phase: choice("What the rollouts are for", GROUP_PHASES),
    policy: word("Id of the policy that was sampled."),
    task: word("Id of the task."),
    outcome: choice("Outcome of the grading", VERDICT_OUTCOMES),
    environment,
  } satisfies FiltersOf<RolloutFilters>,
  policies: {
    kind: choice("Kind", POLICY_KINDS),
    parent: word("Id of the parent."),
  } satisfies FiltersOf<PolicyFilters>,
  evaluations: {
    experiment,
    iteration,
    policy: word("Id of the policy."),
    set: word("Name of the task set."),
    mode: word("sampled, greedy, …"),
  } satisfies FiltersOf<EvaluationFilters>,
};

/** The value of one filter as text says it. Throws PageError `filter`, or `limit` for a page size. */
export function readFilter(name: string, filter: Filter, text: string): string | number {
  if (filter.kind === "count") return readCount(name, text, 0, COUNT_LIMIT);
  if (filter.kind === "choice" ? filter.values.includes(text) : FILTER_WORD.test(text)) return text;
  const expected =
    filter.kind === "choice" ? `one of ${filter.values.join(", ")}` : "a name, key or id of the record";
  throw new PageError("filter", `${name} ${JSON.stringify(text)}: expected ${expected}`, name);
}

/** A whole number. Throws PageError `filter`, or `limit` where `name` is that. */
export function readCount(name: string, text: string, min: number, max: number): number {
  const value = /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new PageError(
    name === "limit" ? "limit" : "filter",
    `${name} ${JSON.stringify(text)}: expected a whole number from ${min} to ${max}`,
    name,
  );
}
