/**
 * Lists of the record, page by page in the order of their keys: keys never change, so that a page after a key is the same whatever was
 * recorded since. Filters that are absent filter nothing.
 */
import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import { admitted, isDropped } from "./admitted.ts";
import { scopeSql } from "./keys.ts";
import type { Executor } from "./rows.ts";

export interface PageQuery<Filters> {
  readonly filters: Filters;
  /** Items after this key; null = from the start. */
  readonly after: string | null;
  /** At least 1. */
  readonly limit: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Key of the last item where more follow, else null. */
  readonly next: string | null;
}

export interface ExperimentFilters {
  readonly status?: string | undefined;
}
export interface IterationFilters {
  readonly experiment: string;
  readonly status?: string | undefined;
}
export interface TaskFilters {
  /** Tasks that a candidate of this experiment became. */
  readonly experiment?: string | undefined;
  readonly iteration?: number | undefined;
  /** Key of the environment, or its name. */
  readonly environment?: string | undefined;
  readonly type?: string | undefined;
  readonly generator?: string | undefined;
  /** `TaskOutcome`, in this experiment and iteration where they are named. */
  readonly outcome?: string | undefined;
}
export interface ImportFilters {
  readonly format?: string | undefined;
}
export interface RolloutFilters {
  readonly experiment?: string | undefined;
  /** Iteration, try and phase are those of the group, known once it is graded. */
  readonly iteration?: number | undefined;
  readonly try?: number | undefined;
  readonly phase?: string | undefined;
  readonly policy?: string | undefined;
  readonly task?: string | undefined;
  readonly outcome?: string | undefined;
  readonly environment?: string | undefined;
}
export interface PolicyFilters {
  readonly kind?: string | undefined;
  readonly parent?: string | undefined;
}
export interface EvaluationFilters {
  readonly experiment?: string | undefined;
  readonly iteration?: number | undefined;
  readonly policy?: string | undefined;
  readonly set?: string | undefined;
  readonly mode?: string | undefined;
}

export type ExperimentItem = Awaited<ReturnType<typeof pageExperiments>>["items"][number];
export type IterationItem = Awaited<ReturnType<typeof pageIterations>>["items"][number];
export type TaskItem = Awaited<ReturnType<typeof pageTasks>>["items"][number];
export type ImportItem = Awaited<ReturnType<typeof pageImports>>["items"][number];
export type RolloutItem = Awaited<ReturnType<typeof pageRollouts>>["items"][number];
export type PolicyItem = Awaited<ReturnType<typeof pagePolicies>>["items"][number];
export type EvaluationItem = Awaited<ReturnType<typeof pageEvaluations>>["items"][number];

// biome-ignore lint/suspicious/noExplicitAny: any query over any tables
type Query<Row> = SelectQueryBuilder<any, any, Row>;

/** Conditions are kept as a list, so that an absent filter is an absent condition. */
type Condition = RawBuilder<boolean> | false;

/** `key` is a text expression that is unique in the query. */
async function page<Row>(
  query: Query<Row>,
  key: RawBuilder<string>,
  conditions: readonly Condition[],
  { after, limit }: PageQuery<unknown>,
): Promise<Page<Row>> {
  let filtered = query as Query<Row & { page_key: string }>;
  for (const condition of conditions) if (condition !== false) filtered = filtered.where(condition);
  if (after !== null) filtered = filtered.where(sql<boolean>`${key} > ${after}`);
  const rows = await filtered
    .select(key.as("page_key"))
    .orderBy(key)
    .limit(limit + 1)
    .execute();
  const items = rows.slice(0, limit) as (Row & { page_key: string })[];
  return {
    items: items.map(({ page_key: _, ...row }) => row as unknown as Row),
    next: rows.length > limit ? items.at(-1)!.page_key : null,
  };
}

const equals = (column: string, value: unknown): Condition =>
  value !== undefined && sql<boolean>`${sql.ref(column)} = ${value}`;

const inEnvironment = (value: string | undefined): Condition =>
  value !== undefined &&
  sql<boolean>`(t.environment = ${value} or exists (select 1 from environments e where e.key = t.environment and e.name = ${value}))`;

export async function pageExperiments(db: Executor, query: PageQuery<ExperimentFilters>) {
  const rows = db
    .selectFrom("experiments as e")
    .select(["e.name", "e.seed", "e.status", "e.hold", "e.created_at", "e.updated_at"])
    // What an earlier run ended by is no error of the one that runs now.
    .select(
      sql<string | null>`case when e.status <> 'running' then e.result::jsonb ->> 'error' end`.as("error"),
    )
    .select(
      sql<number>`(select count(distinct iteration) from iterations i where i.experiment = e.name)`.as(
        "iterations",
      ),
    );
  return page(rows, sql<string>`e.name`, [equals("e.status", query.filters.status)], query);
}

/** Every try of every iteration. */
export async function pageIterations(db: Executor, query: PageQuery<IterationFilters>) {
  const { experiment, status } = query.filters;
  const rows = db
    .selectFrom("iterations as i")
    .select([
      "i.iteration",
      "i.try",
      "i.status",
      "i.start_policy",
      "i.end_policy",
      "i.pool",
      "i.from_phase",
      "i.overrides",
      "i.base_try",
      "i.stale",
      "i.created_at",
      "i.updated_at",
    ]);
  const key = sql<string>`lpad(i.iteration::text, 9, '0') || '/' || lpad(i.try::text, 9, '0')`;
  return page(rows, key, [equals("i.experiment", experiment), equals("i.status", status)], query);
}

export async function pageTasks(db: Executor, query: PageQuery<TaskFilters>) {
  const { experiment, iteration, environment, type, generator, outcome } = query.filters;
  const rows = db
    .selectFrom("tasks as t")
    .select(["t.id", "t.environment", "t.type", "t.generator", "t.functions", "t.created_at"]);
  const within = (scope: RawBuilder<string>) => {
    if (experiment === undefined)
      return iteration === undefined ? sql`true` : sql`${scope} like ${`%/it/${iteration}/try/%`}`;
    return sql`starts_with(${scope}, ${`${experiment}/it/${iteration === undefined ? "" : `${iteration}/`}`})`;
  };
  const made =
    (experiment !== undefined || iteration !== undefined) &&
    sql<boolean>`exists (select 1 from validations v where v.task_id = t.id and ${within(sql.ref("v.scope"))})`;
  // The best counts: a task may be a candidate again. What a pool did not read came to nothing.
  const came = sql`case when t.id in (select task_id from ${admitted(within)} a) then 'admitted' else (
    select case
      when count(*) = 0 then 'unprobed'
      when bool_or(${isDropped("p.decision")}) then 'dropped'
      else 'revised' end
    from probes p join iterations i on ${scopeSql("i")} = p.scope and p.candidate <= coalesce(i.last_candidate, p.candidate)
    where p.task_id = t.id and ${within(sql.ref("p.scope"))}) end`;
  const conditions = [
    made,
    inEnvironment(environment),
    equals("t.type", type),
    equals("t.generator", generator),
    outcome !== undefined && sql<boolean>`${came} = ${outcome}`,
  ];
  return page(rows, sql<string>`t.id`, conditions, query);
}

export async function pageImports(db: Executor, query: PageQuery<ImportFilters>) {
  const rows = db
    .selectFrom("imports as i")
    .select(["i.key", "i.format", "i.source_id", "i.image", "i.fail_to_pass", "i.pass_to_pass", "i.gold"])
    .select(["i.origin", "i.created_at"]);
  return page(rows, sql<string>`i.key`, [equals("i.format", query.filters.format)], query);
}

export async function pageRollouts(db: Executor, query: PageQuery<RolloutFilters>) {
  const { filters } = query;
  const rows = db
    .selectFrom("rollouts as r")
    .innerJoin("tasks as t", "t.id", "r.task_id")
    .leftJoin("groups as g", "g.key", "r.group_key")
    .select(["r.key", "r.group_key", "r.member", "r.task_id", "r.level", "r.policy", "t.environment"])
    .select(["g.experiment", "g.iteration", "g.try", "g.phase"])
    .select(["r.exit", "r.truncated", "r.turns", "r.generated_tokens", "r.outcome", "r.rule"])
    .select(["r.raw_reward", "r.reward", "r.model_seconds", "r.tool_seconds", "r.reused_from"])
    .select("r.created_at");
  const conditions = [
    filters.experiment !== undefined && sql<boolean>`starts_with(r.key, ${`${filters.experiment}/`})`,
    equals("g.iteration", filters.iteration),
    equals("g.try", filters.try),
    equals("g.phase", filters.phase),
    equals("r.policy", filters.policy),
    equals("r.task_id", filters.task),
    equals("r.outcome", filters.outcome),
    inEnvironment(filters.environment),
  ];
  return page(rows, sql<string>`r.key`, conditions, query);
}

export async function pagePolicies(db: Executor, query: PageQuery<PolicyFilters>) {
  const { kind, parent } = query.filters;
  const rows = db
    .selectFrom("policies as p")
    .select(["p.id", "p.kind", "p.parent", "p.step", "p.sha256", "p.created_at"]);
  return page(rows, sql<string>`p.id`, [equals("p.kind", kind), equals("p.parent", parent)], query);
}

export async function pageEvaluations(db: Executor, query: PageQuery<EvaluationFilters>) {
  const { experiment, iteration, policy, set, mode } = query.filters;
  const rows = db
    .selectFrom("evaluations as e")
    .select(["e.key", "e.experiment", "e.iteration", "e.policy", "e.set_name", "e.set_hash", "e.mode"])
    .select(["e.tasks", "e.samples", "e.pass_at_1", "e.low", "e.high", "e.created_at"]);
  const conditions = [
    equals("e.experiment", experiment),
    equals("e.iteration", iteration),
    equals("e.policy", policy),
    equals("e.set_name", set),
    equals("e.mode", mode),
  ];
  return page(rows, sql<string>`e.key`, conditions, query);
}

export interface EventItem {
  /** Sorts as the events happened: microseconds of the database's clock, then the key. */
  readonly at: string;
  readonly kind: string;
  readonly detail: unknown;
  readonly created_at: Date;
}

/** Events of an experiment as they happened. */
export async function pageEvents(
  db: Executor,
  query: PageQuery<{ readonly experiment: string }>,
): Promise<Page<EventItem>> {
  const at = sql<string>`lpad((extract(epoch from e.created_at) * 1000000)::bigint::text, 20, '0') || '/' || e.key`;
  const rows = db
    .selectFrom("events as e")
    .select(["e.kind", "e.detail", "e.created_at"])
    .select(at.as("at"));
  return page(rows as Query<EventItem>, at, [equals("e.experiment", query.filters.experiment)], query);
}
