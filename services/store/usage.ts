/** What an experiment has used of its budget, and whether more may begin. */
import { type RawBuilder, sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Scope } from "../../core/scope.ts";
import {
  type BudgetSettings,
  exhausted,
  NO_TOKENS,
  type Price,
  SANDBOX_HOUR,
  type SandboxWork,
  SpendError,
  type SpendPhase,
  sumUsd,
  TOKEN_CLASSES,
  type TokenCounts,
  type Usage,
  usdOfSeconds,
  usdOfTokens,
} from "../../core/spend.ts";
import { type Amendment, amended } from "../../core/steering.ts";
import type { Task } from "../../core/task.ts";
import type { Db } from "./database.ts";
import type { Executor } from "./rows.ts";

/** As in force now: nothing of a budget is pinned. */
export interface SpendSettings {
  readonly budget: BudgetSettings;
  readonly prices: Readonly<Record<string, Price>>;
  /** The name that the policy's tokens are paid under. */
  readonly policyModel: string;
}

const NO_BUDGET: BudgetSettings = { usd: null, authorTokens: null, sandboxHours: null };

/** Undefined when no experiment of that name is recorded. `lock` = nobody else reserves until the transaction ends. */
export async function readSpendSettings(
  db: Executor,
  experiment: string,
  lock = false,
): Promise<SpendSettings | undefined> {
  const row = await db
    .selectFrom("experiments")
    .select(["settings", "amendments"])
    .where("name", "=", experiment)
    .$if(lock, (query) => query.forNoKeyUpdate())
    .executeTakeFirst();
  if (row === undefined) return undefined;
  // An experiment of an earlier version has neither budget nor prices.
  const settings: Partial<ExperimentSettings> & Pick<ExperimentSettings, "policy"> = amended(
    row.settings as ExperimentSettings,
    row.amendments as unknown as readonly Amendment[],
    Number.POSITIVE_INFINITY,
  );
  const { budget, prices = {}, policy } = settings;
  return { budget: { ...NO_BUDGET, ...budget }, prices, policyModel: policy.model ?? policy.kind };
}

/** `TokenCounts` of a group of rows: the sums of their `tokens`. */
export const CLASSES = sql.join(
  TOKEN_CLASSES.map(
    (name) => sql`coalesce(sum((tokens ->> ${sql.lit(name)})::bigint), 0)::bigint as ${sql.ref(name)}`,
  ),
);

/** Dollars of a row of `spend`: those of its outcome, and all that were reserved where that is not known or had no price. Null = no price at all. */
export const requestUsd = sql<number | null>`coalesce(usd, reserved_usd)`;
/** Tokens of a row of `spend`: those that were used, and all that were reserved where that is not known. */
export const requestTokens = sql<number>`case
  when used is null then (reserved ->> 'prompt')::bigint + (reserved ->> 'generated')::bigint
  else ${sql.join(
    TOKEN_CLASSES.map((name) => sql`(used ->> ${sql.lit(name)})::bigint`),
    sql` + `,
  )} end`;

/** A subquery of turns that came to no rollout: dropped, or of one that has not come to its end. (rollout_key, tokens). */
export const lostTurns = (experiment: string): RawBuilder<unknown> => sql`(
  select rollout_key, lost_tokens as tokens from attempts
  where starts_with(rollout_key, ${`${experiment}/`}) and lost_tokens is not null
  union all
  select rollout_key, (reply -> 'tokens')::jsonb from ledger
  where starts_with(rollout_key, ${`${experiment}/`}) and reply -> 'tokens' is not null
)`;

/** Of accepted rollouts, each in the try that made it, and of turns that were lost. */
async function policyTokens(db: Executor, experiment: string): Promise<TokenCounts> {
  const { rows } = await sql<TokenCounts>`
    select ${CLASSES} from (
      select tokens::jsonb from rollouts where starts_with(key, ${`${experiment}/`}) and reused_from is null
      union all
      select tokens from ${lostTurns(experiment)} lost
    ) as paid`.execute(db);
  return rows[0] ?? NO_TOKENS;
}

async function requested(db: Executor, experiment: string) {
  const { rows } = await sql<{
    usd: string;
    reservedUsd: string;
    authorTokens: number;
    reservedTokens: number;
  }>`
    with request as (
      select used is null as open, ${requestUsd}::numeric as usd, ${requestTokens} as tokens
      from spend where experiment = ${experiment}
    )
    select coalesce(sum(usd), 0) as usd, coalesce(sum(usd) filter (where open), 0) as "reservedUsd",
      coalesce(sum(tokens), 0)::bigint as "authorTokens",
      coalesce(sum(tokens) filter (where open), 0)::bigint as "reservedTokens"
    from request`.execute(db);
  const { usd, reservedUsd, ...tokens } = rows[0]!;
  return { usd: Number(usd), reservedUsd: Number(reservedUsd), ...tokens };
}

async function sandboxSeconds(db: Executor, experiment: string): Promise<number> {
  const { seconds } = await db
    .selectFrom("sandbox_use")
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>("seconds"), eb.lit(0)).as("seconds"))
    .where("experiment", "=", experiment)
    .executeTakeFirstOrThrow();
  return seconds;
}

/** What a sandbox was used for. */
export interface SandboxUse {
  readonly scope: Scope;
  readonly phase: SpendPhase;
  readonly work: SandboxWork;
  /** Key of the group, or index of the candidate, in its set where it is of one. */
  readonly item: string;
  readonly taskId: string | null;
  /** Null where the task says it. */
  readonly generator: Task["generator"] | null;
}

/** Adds to what the same work took before: an attempt that came to nothing had its sandbox, too. */
export async function addSandboxSeconds(db: Executor, use: SandboxUse, seconds: number): Promise<void> {
  const { scope, taskId, ...rest } = use;
  await db
    .insertInto("sandbox_use")
    .values({ ...scope, ...rest, task_id: taskId, seconds })
    .onConflict((conflict) =>
      conflict
        .columns(["experiment", "iteration", "try", "phase", "work", "item"])
        .doUpdateSet((eb) => ({ seconds: eb("sandbox_use.seconds", "+", eb.ref("excluded.seconds")) })),
    )
    .execute();
}

/** Of all tries: what was thrown away is paid, too. The policy's tokens are added up only where their model has a price. */
export async function readUsage(
  db: Executor,
  experiment: string,
  { prices, policyModel }: SpendSettings,
): Promise<Usage> {
  const author = await requested(db, experiment);
  const seconds = await sandboxSeconds(db, experiment);
  const price = prices[policyModel];
  const policy = price === undefined ? 0 : usdOfTokens(await policyTokens(db, experiment), price);
  const boxes = usdOfSeconds(seconds, prices[SANDBOX_HOUR]);
  return { ...author, usd: sumUsd([author.usd, policy ?? 0, boxes ?? 0]), sandboxHours: seconds / 3600 };
}

/** Where it has room, an experiment is not asked again for so long: every activity asks. */
const ROOM_MS = 5000;
const roomUntil = new WeakMap<Db, Map<string, number>>();

/** Throws SpendError `exhausted` where nothing more may begin. */
export async function requireBudget(db: Db, experiment: string): Promise<void> {
  const known = roomUntil.get(db) ?? new Map<string, number>();
  roomUntil.set(db, known);
  const now = performance.now();
  if ((known.get(experiment) ?? 0) > now) return;
  const settings = await readSpendSettings(db, experiment);
  if (settings === undefined) return;
  const { usd, sandboxHours } = settings.budget;
  if (usd !== null || sandboxHours !== null) {
    const reason = exhausted(settings.budget, await readUsage(db, experiment, settings));
    if (reason !== null) throw new SpendError("exhausted", reason);
  }
  known.set(experiment, now + ROOM_MS);
}
