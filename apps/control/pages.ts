/** Lists of the record page by page. A cursor is opaque: it holds the last key, bound to the list and the filters it was given for. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/canonical.ts";
import { type Db, getExperiment } from "../../services/store/index.ts";
import {
  type EvaluationFilters,
  type EventItem,
  type ExperimentFilters,
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

export const PAGE_LIMIT = 200;

/** `cursor`: not one of this list with these filters; `limit`: out of range. */
export type PageErrorKind = "cursor" | "limit";

export class PageError extends Error {
  readonly kind: PageErrorKind;
  readonly field: string;
  constructor(kind: PageErrorKind, message: string, field: string = kind) {
    super(message);
    this.name = "PageError";
    this.kind = kind;
    this.field = field;
  }
}

const BINDING_BYTES = 9;

function binding(list: string, filters: object, key: string): Buffer {
  const text = `${list}\n${canonicalJson(filters)}\n${key}`;
  return createHash("sha256").update(text).digest().subarray(0, BINDING_BYTES);
}

export function encodeCursor(list: string, filters: object, key: string): string {
  return Buffer.concat([binding(list, filters, key), Buffer.from(key)]).toString("base64url");
}

/** The key a cursor stands for. Throws PageError `cursor` for anything `encodeCursor` did not make of the same list and filters. */
export function decodeCursor(list: string, filters: object, cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  const key = bytes.subarray(BINDING_BYTES).toString();
  if (key === "" || encodeCursor(list, filters, key) !== cursor)
    throw new PageError(
      "cursor",
      "cursor: expected the `next` of a page of the same list with the same filters",
    );
  return key;
}

export interface ListRequest<Filters> {
  readonly filters: Filters;
  readonly cursor?: string | undefined;
  /** 1 to `PAGE_LIMIT`. */
  readonly limit: number;
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

async function list<Filters extends object, Item>(
  name: string,
  request: ListRequest<Filters>,
  read: (query: PageQuery<Filters>) => Promise<Page<Item>>,
): Promise<ListPage<Item>> {
  const { filters, cursor, limit } = request;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT)
    throw new PageError("limit", `limit: expected a whole number from 1 to ${PAGE_LIMIT}`);
  const after = cursor === undefined ? null : decodeCursor(name, filters, cursor);
  const { items, next } = await read({ filters, after, limit });
  return { items, next: next === null ? null : encodeCursor(name, filters, next) };
}

interface Context {
  readonly db: Db;
}

export const experimentsPage = ({ db }: Context, request: ListRequest<ExperimentFilters>) =>
  list("experiments", request, (query) => pageExperiments(db, query));
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

/** The position behind an event, as `Last-Event-ID` brings it back. */
export const eventId = (experiment: string, event: EventItem): string =>
  encodeCursor("events", { experiment }, event.at);

/** Events after an id, oldest first, at most `PAGE_LIMIT`. Throws PageError `cursor` for an id of another experiment. */
export async function eventsAfter(
  { db }: Context,
  experiment: string,
  id: string | null,
): Promise<readonly EventItem[]> {
  const filters = { experiment };
  const after = id === null ? null : decodeCursor("events", filters, id);
  const { items } = await pageEvents(db, { filters, after, limit: PAGE_LIMIT });
  return items;
}
