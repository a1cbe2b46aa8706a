/** What an experiment cost, over all its tries, from the books, the rollouts, the turns that were lost and the sandboxes. */
import { type RawBuilder, sql } from "kysely";
import { type CostEntry, NO_COST } from "../../core/cost.ts";
import {
  SANDBOX_HOUR,
  SPEND_PHASES,
  type SpendPhase,
  type TokenCounts,
  totalOf,
  usdOfSeconds,
  usdOfTokens,
} from "../../core/spend.ts";
import { admitted } from "./admitted.ts";
import { StoreError } from "./errors.ts";
import { groupKind, scopeSql } from "./keys.ts";
import type { Executor } from "./rows.ts";
import {
  CLASSES,
  lostTurns,
  readSpendSettings,
  requestTokens,
  requestUsd,
  type SpendSettings,
} from "./usage.ts";

type Of = Pick<CostEntry, "phase" | "iteration" | "generator" | "task">;

const classesOf = ({ prompt, cached, reasoning, text, toolCalls }: TokenCounts): TokenCounts => ({
  prompt,
  cached,
  reasoning,
  text,
  toolCalls,
});

const place = ({ phase, iteration, generator, task }: Of): Of => ({ phase, iteration, generator, task });

/** A group that was never recorded, its rollouts being cut, is known by its key. */
const PHASE = sql`coalesce(g.phase, case when ${groupKind("group_key")} is not null then 'probe'
  when group_key like '%/climb/%' then 'climb' else 'evaluate' end)`;
const ITERATION = sql`coalesce(g.iteration, substring(group_key from '/it/([0-9]+)/')::integer, 0)`;

interface RolloutSums extends Of, TokenCounts {
  readonly rollouts: number;
  readonly uncounted: number;
}

/** A rollout that was taken over from another try is paid there. */
async function rolloutEntries(
  db: Executor,
  experiment: string,
  settings: SpendSettings,
): Promise<CostEntry[]> {
  const { rows } = await sql<RolloutSums>`
    select ${PHASE} as phase, ${ITERATION} as iteration, t.generator, r.task_id as task,
      count(*) as rollouts, count(*) filter (where tokens is null) as uncounted, ${CLASSES}
    from rollouts r left join groups g on g.key = r.group_key left join tasks t on t.id = r.task_id
    where starts_with(r.key, ${`${experiment}/`}) and reused_from is null
    group by 1, 2, 3, 4`.execute(db);
  return rows.map(({ rollouts, uncounted, ...row }) => ({
    ...NO_COST,
    ...place(row),
    ...paidByPolicy(classesOf(row), settings),
    rollouts,
    uncountedRollouts: uncounted,
  }));
}

function paidByPolicy(tokens: TokenCounts, { prices, policyModel }: SpendSettings) {
  const usd = usdOfTokens(tokens, prices[policyModel]);
  return { tokens, usd: usd ?? 0, unpricedTokens: usd === null ? totalOf(tokens) : 0 };
}

async function lostEntries(db: Executor, experiment: string, settings: SpendSettings): Promise<CostEntry[]> {
  const { rows } = await sql<Of & TokenCounts>`
    with slot as (
      select tokens, regexp_replace(rollout_key, '/[^/]+$', '') as group_key from ${lostTurns(experiment)} lost
    ), placed as (
      select s.*, g.phase, g.iteration,
        coalesce(g.task_id, (select r.task_id from rollouts r where r.group_key = s.group_key limit 1)) as task
      from slot s left join groups g on g.key = s.group_key
    )
    select ${PHASE} as phase, ${ITERATION} as iteration, t.generator, g.task, ${CLASSES}
    from placed g left join tasks t on t.id = g.task
    group by 1, 2, 3, 4`.execute(db);
  return rows.map((row) => ({
    ...NO_COST,
    ...place(row),
    ...paidByPolicy(classesOf(row), settings),
    lostTokens: totalOf(classesOf(row)),
  }));
}

interface RequestSums extends Of, TokenCounts {
  readonly requests: number;
  readonly usd: string;
  readonly unpriced: number;
  readonly openRequests: number;
  readonly openTokens: number;
  readonly openUsd: string;
}

async function requestEntries(db: Executor, experiment: string): Promise<CostEntry[]> {
  const { rows } = await sql<RequestSums>`
    with request as (
      select s.phase, coalesce(s.iteration, 0) as iteration, s.generator, v.task_id as task, used as tokens,
        used is null as open, ${requestUsd} as usd, ${requestTokens} as total
      from spend s left join validations v
        on v.scope = ${scopeSql("s")} and v.candidate = s.candidate
      where s.experiment = ${experiment}
    )
    select phase, iteration, generator, task, count(*) as requests, ${CLASSES},
      coalesce(sum(usd::numeric), 0) as usd,
      coalesce(sum(total) filter (where usd is null), 0)::bigint as unpriced,
      count(*) filter (where open) as "openRequests",
      coalesce(sum(total) filter (where open), 0)::bigint as "openTokens",
      coalesce(sum(usd::numeric) filter (where open), 0) as "openUsd"
    from request group by 1, 2, 3, 4`.execute(db);
  return rows.map((row) => ({
    ...NO_COST,
    ...place(row),
    tokens: classesOf(row),
    requests: row.requests,
    usd: Number(row.usd),
    unpricedTokens: row.unpriced,
    openRequests: row.openRequests,
    openTokens: row.openTokens,
    openUsd: Number(row.openUsd),
  }));
}

async function sandboxEntries(
  db: Executor,
  experiment: string,
  { prices }: SpendSettings,
): Promise<CostEntry[]> {
  const { rows } = await sql<Of & { seconds: number }>`
    select u.phase, u.iteration, coalesce(u.generator, t.generator) as generator,
      coalesce(u.task_id, v.task_id) as task, round(sum(u.seconds)::numeric, 3)::float8 as seconds
    from sandbox_use u left join tasks t on t.id = u.task_id left join validations v
      on u.task_id is null and v.candidate::text = u.item
        and v.scope = ${scopeSql("u")}
    where u.experiment = ${experiment} group by 1, 2, 3, 4`.execute(db);
  return rows.map(({ seconds, ...of }) => {
    const usd = usdOfSeconds(seconds, prices[SANDBOX_HOUR]);
    const unpricedSeconds = usd === null ? seconds : 0;
    return { ...NO_COST, ...of, sandboxSeconds: seconds, usd: usd ?? 0, unpricedSeconds };
  });
}

export interface GeneratorYield {
  readonly generator: string;
  readonly candidates: number;
  readonly valid: number;
  /** Different tasks. */
  readonly admitted: number;
}

/** Of all tries; a result that a pool had no use for any more admits nothing. */
async function generatorYields(db: Executor, experiment: string): Promise<GeneratorYield[]> {
  const within = (scope: RawBuilder<string>) => sql`starts_with(${scope}, ${`${experiment}/it/`})`;
  const { rows } = await sql<GeneratorYield>`
    select v.generator, count(*) as candidates, count(v.task_id) as valid, count(distinct a.task_id) as admitted
    from validations v left join ${admitted(within)} a using (scope, candidate)
    where ${within(sql.ref("v.scope"))} group by 1 order by 1`.execute(db);
  return rows;
}

export interface CostRecord {
  readonly entries: readonly CostEntry[];
  readonly yields: readonly GeneratorYield[];
  /** Different policies that updates made. */
  readonly updates: number;
  /** Attempts that came to no rollout, by their status; turns that were cut half way are in no count. */
  readonly attempts: { readonly failed: number; readonly superseded: number; readonly open: number };
  readonly settings: SpendSettings;
}

/** Entries are in the order of phases, then of iterations. Throws StoreError `missing`. */
export async function readCost(db: Executor, experiment: string): Promise<CostRecord> {
  const settings = await readSpendSettings(db, experiment);
  if (settings === undefined)
    throw new StoreError("missing", `no experiment "${experiment}" is recorded (tadpole list shows all)`);
  const entries = [
    ...(await requestEntries(db, experiment)),
    ...(await rolloutEntries(db, experiment, settings)),
    ...(await lostEntries(db, experiment, settings)),
    ...(await sandboxEntries(db, experiment, settings)),
  ];
  const order = ({ phase }: { readonly phase: SpendPhase }) => SPEND_PHASES.indexOf(phase);
  const { updates } = await db
    .selectFrom("updates")
    .select((eb) => eb.fn.count<number>("policy").distinct().as("updates"))
    .where("experiment", "=", experiment)
    .executeTakeFirstOrThrow();
  const { rows } = await sql<CostRecord["attempts"]>`
    select count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'superseded') as superseded,
      count(*) filter (where status = 'running') as open
    from attempts where starts_with(rollout_key, ${`${experiment}/`})`.execute(db);
  return {
    entries: entries.sort((a, b) => order(a) - order(b) || a.iteration - b.iteration),
    yields: await generatorYields(db, experiment),
    updates,
    attempts: rows[0]!,
    settings,
  };
}
