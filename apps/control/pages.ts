/** Lists of the record page by page. */
import type { Client } from "@temporalio/client";
import { type Db, getExperiment } from "../../services/store/index.ts";
import {
  type EvaluationFilters,
  type EventItem,
  type ExperimentFilters,
  type ExperimentItem,
  type IterationFilters,
  type Page,
  type PageQuery,
  type PolicyFilters,
  pageEvaluations,
  pageEvents,
  pageExperiments,
  pageIterations,
  pagePolicies,
  pageRollouts,
  pageTasks,
  type RolloutFilters,
  type TaskFilters,
} from "../../services/store/pages.ts";
import { decodeCursor, encodeCursor, PageError } from "./cursors.ts";
import { isRunning } from "./experiments.ts";
import { PAGE_DEFAULT, PAGE_LIMIT } from "./filters.ts";

export interface ListRequest<Filters> {
  readonly filters: Filters;
  readonly cursor?: string | undefined;
  /** 1 to `PAGE_LIMIT`; `PAGE_DEFAULT` where it is absent. */
  readonly limit?: number | undefined;
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** One page of a list that `read` knows. Throws PageError `cursor` or `limit`. */
export async function list<Filters extends object, Item>(
  name: string,
  request: ListRequest<Filters>,
  read: (query: PageQuery<Filters>) => Promise<Page<Item>>,
): Promise<ListPage<Item>> {
  const { filters, cursor, limit = PAGE_DEFAULT } = request;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT)
    throw new PageError("limit", `limit: expected a whole number from 1 to ${PAGE_LIMIT}`);
  const after = cursor === undefined ? null : decodeCursor(name, filters, cursor);
  const { items, next } = await read({ filters, after, limit });
  return { items, next: next === null ? null : encodeCursor(name, filters, next) };
}

interface Context {
  readonly db: Db;
}

/** A list is no place to wait for a server that is away. */
const ASK_MS = 2000;

export interface ListedExperiment extends ExperimentItem {
  /**
   * Whether the record says `running` although nothing runs it: its start was cut short, or it was ended in Temporal. Null where Temporal
   * does not answer.
   */
  readonly unattended: boolean | null;
}

export async function experimentsPage(
  { db, client }: Context & { readonly client: Client },
  request: ListRequest<ExperimentFilters>,
): Promise<ListPage<ListedExperiment>> {
  const { items, next } = await list("experiments", request, (query) => pageExperiments(db, query));
  const unattended = async ({ name, status }: ExperimentItem): Promise<boolean | null> => {
    if (status !== "running") return false;
    try {
      if (await isRunning({ client }, name)) return false;
    } catch {
      return null;
    }
    // Its end may have come since the page was read.
    return (await getExperiment(db, name)).status === "running";
  };
  const told = await client.withDeadline(Date.now() + ASK_MS, () => Promise.all(items.map(unattended)));
  return { items: items.map((item, index) => ({ ...item, unattended: told[index]! })), next };
}
export const tasksPage = ({ db }: Context, request: ListRequest<TaskFilters>) =>
  list("tasks", request, (query) => pageTasks(db, query));
export const rolloutsPage = ({ db }: Context, request: ListRequest<RolloutFilters>) =>
  list("rollouts", request, (query) => pageRollouts(db, query));
export const policiesPage = ({ db }: Context, request: ListRequest<PolicyFilters>) =>
  list("policies", request, (query) => pagePolicies(db, query));
export const evaluationsPage = ({ db }: Context, request: ListRequest<EvaluationFilters>) =>
  list("evaluations", request, (query) => pageEvaluations(db, query));

/** Every try of every iteration of one experiment. Throws StoreError `missing` for an unknown one. */
export async function iterationsPage({ db }: Context, request: ListRequest<IterationFilters>) {
  await getExperiment(db, request.filters.experiment);
  return list("iterations", request, (query) => pageIterations(db, query));
}

/** The position behind an event: what a client brings back to go on after it. */
export const eventId = (experiment: string, event: EventItem): string =>
  encodeCursor("events", { experiment }, event.at);

/**
 * Events after an id, oldest first, at most `PAGE_LIMIT`. Throws StoreError `missing` for an unknown experiment, PageError `cursor` for an
 * id of another one.
 */
export async function eventsAfter(
  { db }: Context,
  experiment: string,
  id: string | null,
): Promise<readonly EventItem[]> {
  await getExperiment(db, experiment);
  const filters = { experiment };
  const after = id === null ? null : decodeCursor("events", filters, id);
  const { items } = await pageEvents(db, { filters, after, limit: PAGE_LIMIT });
  return items;
}
