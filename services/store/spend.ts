/**
 * The books of requests that are paid for. A reservation counts against the budget until its outcome is known: nothing is released by time. Whoever
 * asks again for what another one reserved comes after its death, and pays beside it: the first is kept as paid in full, its outcome unknown.
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
import type { GeneratorName } from "../../core/task.ts";
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
  readonly generator: GeneratorName | null;
}

/** One for each attempt at the work: the same books know their own reservations. */
export function spendBooks(db: Db, of: SpendFor): SpendBooks {
  const owner = randomUUID();
  return {
    reserve: (request) => db.transaction().execute((tx) => reserve(tx, of, owner, request)),
    settle: (key, used) => db.transaction().execute((tx) => settle(tx, of, owner, key, used)),
  };
}

/** Keys of reservations whose holder died, behind the key they had. */
const UNKNOWN = "#unknown-";

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
    .select(["owner", "settled_at", "used"])
    .where("key", "=", key)
    .executeTakeFirst();
  const refused = found?.used != null && totalOf(found.used as TokenCounts) === 0;
  // What cost nothing was refused: asked again, it is a request like the first.
  if (refused) await tx.deleteFrom("spend").where("key", "=", key).execute();
  else if (found !== undefined && (found.settled_at !== null || found.owner === owner)) return;
  if (found !== undefined && !refused) await closeUnknown(tx, key);
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

/** What it came to, nobody will know: it counts with all that it could have cost, under a key of its own. */
async function closeUnknown(tx: Executor, key: string): Promise<void> {
  const { count } = await tx
    .selectFrom("spend")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where((eb) => eb.fn("starts_with", ["key", eb.val(`${key}${UNKNOWN}`)]), "=", true)
    .executeTakeFirstOrThrow();
  await tx
    .updateTable("spend")
    .set({
      key: `${key}${UNKNOWN}${count + 1}`,
      usd: sql<number | null>`reserved_usd`,
      settled_at: sql<Date>`now()`,
    })
    .where("key", "=", key)
    .execute();
}

async function settle(
  tx: Executor,
  { experiment }: SpendFor,
  owner: string,
  key: string,
  used: TokenCounts,
): Promise<void> {
  const settings = await readSpendSettings(tx, experiment);
  // A sender that was thought dead may yet know.
  const own = await tx
    .selectFrom("spend")
    .select(["key", "model", "used"])
    .where("owner", "=", owner)
    .where((eb) =>
      eb.or([eb("key", "=", key), eb(eb.fn("starts_with", ["key", eb.val(`${key}${UNKNOWN}`)]), "=", true)]),
    )
    .forUpdate()
    .executeTakeFirst();
  if (own === undefined) {
    const settled = await tx
      .selectFrom("spend")
      .select("key")
      .where("key", "=", key)
      .where("used", "is not", null)
      .executeTakeFirst();
    if (settled !== undefined) return;
    throw new StoreError("missing", `spend ${key}: expected a reservation of this sender`);
  }
  if (own.used !== null) return;
  await tx
    .updateTable("spend")
    .set({
      used: JSON.stringify(used),
      usd: usdOfTokens(used, settings?.prices[own.model]),
      settled_at: sql<Date>`now()`,
    })
    .where("key", "=", own.key)
    .execute();
}
