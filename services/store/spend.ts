/**
 * The books of requests that are paid for. A reservation counts against the budget until its outcome is known: nothing is released by time. Whoever
 * asks for what another one reserved comes after its death without an answer, and pays beside it: the first is kept as paid in full, its outcome
 * unknown. A request that is sent again after its outcome was known is paid again, too.
 */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import {
  exhausted,
  type SpendBooks,
  SpendError,
  type SpendRequest,
  type TokenCounts,
  totalOf,
  usdOfTokens,
} from "../../core/spend.ts";
import type { Task } from "../../core/task.ts";
import type { Db } from "./database.ts";
import { StoreError } from "./errors.ts";
import type { Executor } from "./rows.ts";
import { readSpendSettings, readUsage } from "./usage.ts";

/** What all requests of one sender are for. Prices and budget are the experiment's, as amended when a request is made. */
export interface SpendFor {
  readonly experiment: string;
  readonly iteration: number | null;
  readonly try: number | null;
  /** Index of the candidate; null = none, or not one. */
  readonly candidate: number | null;
  readonly generator: Task["generator"] | null;
}

/** One for each attempt at the work: the same books know their own reservations. */
export function spendBooks(db: Db, of: SpendFor): SpendBooks {
  const owner = randomUUID();
  return {
    reserve: (request) => db.transaction().execute((tx) => reserve(tx, of, owner, request)),
    settle: (key, used) => db.transaction().execute((tx) => settle(tx, of, owner, key, used)),
  };
}

/** Stands between the key and the number of an earlier request that had it. */
const EARLIER = "#";

async function reserve(tx: Executor, of: SpendFor, owner: string, request: SpendRequest): Promise<void> {
  const { key, phase, model, atMost } = request;
  // Under the lock: two workers that each find the last dollar unspent would both spend it.
  const settings = await readSpendSettings(tx, of.experiment, true);
  if (settings === undefined)
    throw new StoreError(
      "missing",
      `no experiment "${of.experiment}" is recorded: nothing can be paid for it`,
    );
  const found = await tx
    .selectFrom("spend")
    .select(["owner", "settled_at"])
    .where("key", "=", key)
    .executeTakeFirst();
  if (found?.settled_at === null && found.owner === owner) return;
  if (found !== undefined) await setAside(tx, key);
  const { budget, prices } = settings;
  const worst = { prompt: atMost.prompt, cached: 0, reasoning: 0, text: atMost.generated, toolCalls: 0 };
  const usd = usdOfTokens(worst, prices[model]);
  if (usd === null && budget.usd !== null)
    throw new SpendError(
      "unpriced",
      `prices.${model}: expected the prices of prompt and generated, as budget.usd is set`,
    );
  const asked = { usd: usd ?? 0, authorTokens: totalOf(worst) };
  const reason = exhausted(budget, await readUsage(tx, of.experiment, settings), asked);
  if (reason !== null) throw new SpendError("exhausted", reason);
  await tx
    .insertInto("spend")
    .values({ ...of, key, phase, model, reserved: JSON.stringify(atMost), reserved_usd: usd, owner })
    .execute();
}

const isEarlierOf = (key: string) => sql<boolean>`starts_with(key, ${`${key}${EARLIER}`})`;

/** Gives the key free. Where the outcome is not known, nobody will know it: the request counts with all that it could have cost. */
async function setAside(tx: Executor, key: string): Promise<void> {
  const { count } = await tx
    .selectFrom("spend")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(isEarlierOf(key))
    .executeTakeFirstOrThrow();
  await tx
    .updateTable("spend")
    .set({
      key: `${key}${EARLIER}${count + 1}`,
      usd: sql<number | null>`case when settled_at is null then reserved_usd else usd end`,
      settled_at: sql<Date>`coalesce(settled_at, now())`,
    })
    .where("key", "=", key)
    .execute();
}

/** The request that an outcome is of: the sender's own, which may be set aside by now, else one whose sender died after it was answered. */
async function settle(
  tx: Executor,
  { experiment }: SpendFor,
  owner: string,
  key: string,
  used: TokenCounts,
): Promise<void> {
  const settings = await readSpendSettings(tx, experiment, true);
  const rows = await tx
    .selectFrom("spend")
    .select(["key", "model", "owner", "used"])
    .where((eb) => eb.or([eb("key", "=", key), isEarlierOf(key)]))
    .execute();
  const own = rows.filter((row) => row.owner === owner);
  const current = rows.find((row) => row.key === key);
  const of = own.find((row) => row.used === null) ?? own[0] ?? current;
  if (of === undefined) throw new StoreError("missing", `spend ${key}: nothing was reserved under this key`);
  if (of.used !== null) return;
  await tx
    .updateTable("spend")
    .set({
      used: JSON.stringify(used),
      usd: usdOfTokens(used, settings?.prices[of.model]),
      settled_at: sql<Date>`now()`,
    })
    .where("key", "=", of.key)
    .execute();
}
