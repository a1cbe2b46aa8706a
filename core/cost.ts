/** What an experiment cost, in parts that add up the same way whatever they are grouped by. */
import { addTokens, NO_TOKENS, type SpendPhase, sumUsd, type TokenCounts } from "./spend.ts";

export interface Cost {
  readonly requests: number;
  readonly rollouts: number;
  readonly tokens: TokenCounts;
  /** Of `tokens`, those of turns that nobody went on from. */
  readonly lostTokens: number;
  /** Rollouts of earlier versions: their tokens are in no sum. */
  readonly uncountedRollouts: number;
  readonly sandboxSeconds: number;
  readonly usd: number;
  /** Tokens and seconds without a price: `usd` leaves them out. */
  readonly unpricedTokens: number;
  readonly unpricedSeconds: number;
  /** Requests whose outcome is not known. What they may have cost is in `usd`, their tokens are in no class. */
  readonly openRequests: number;
  readonly openTokens: number;
  readonly openUsd: number;
}

export const NO_COST: Cost = {
  requests: 0,
  rollouts: 0,
  tokens: NO_TOKENS,
  lostTokens: 0,
  uncountedRollouts: 0,
  sandboxSeconds: 0,
  usd: 0,
  unpricedTokens: 0,
  unpricedSeconds: 0,
  openRequests: 0,
  openTokens: 0,
  openUsd: 0,
};

/** One part: as small as any grouping asks for. */
export interface CostEntry extends Cost {
  readonly phase: SpendPhase;
  /** 0 = the preparation. */
  readonly iteration: number;
  /** Null where it is of no task. */
  readonly generator: string | null;
  /** Null where it came to no task, or is of several. */
  readonly task: string | null;
}

export const COST_GROUPINGS = ["phase", "iteration", "generator", "task"] as const;
export type CostGrouping = (typeof COST_GROUPINGS)[number];

/** Milliseconds are whole, as billionths of a dollar are: the order of addition changes nothing. */
function sumSeconds(amounts: Iterable<number>): number {
  let milliseconds = 0;
  for (const seconds of amounts) milliseconds += Math.round(seconds * 1000);
  return milliseconds / 1000;
}

export function sumCosts(costs: readonly Cost[]): Cost {
  const count = (of: (cost: Cost) => number) => costs.reduce((sum, cost) => sum + of(cost), 0);
  return {
    requests: count(({ requests }) => requests),
    rollouts: count(({ rollouts }) => rollouts),
    tokens: costs.reduce((sum, { tokens }) => addTokens(sum, tokens), NO_TOKENS),
    lostTokens: count(({ lostTokens }) => lostTokens),
    uncountedRollouts: count(({ uncountedRollouts }) => uncountedRollouts),
    sandboxSeconds: sumSeconds(costs.map(({ sandboxSeconds }) => sandboxSeconds)),
    usd: sumUsd(costs.map(({ usd }) => usd)),
    unpricedTokens: count(({ unpricedTokens }) => unpricedTokens),
    unpricedSeconds: sumSeconds(costs.map(({ unpricedSeconds }) => unpricedSeconds)),
    openRequests: count(({ openRequests }) => openRequests),
    openTokens: count(({ openTokens }) => openTokens),
    openUsd: sumUsd(costs.map(({ openUsd }) => openUsd)),
  };
}

export interface CostGroup extends Cost {
  /** What the entries have in common; null = they have none of it. */
  readonly of: string | number | null;
}

/** In the order in which the groups first occur. */
export function groupCosts(entries: readonly CostEntry[], by: CostGrouping): CostGroup[] {
  const groups = new Map<string | number | null, CostEntry[]>();
  for (const entry of entries) {
    const own = groups.get(entry[by]);
    if (own === undefined) groups.set(entry[by], [entry]);
    else own.push(entry);
  }
  return [...groups].map(([of, own]) => ({ of, ...sumCosts(own) }));
}

/** What one of several things cost; null where there are none. */
export interface UnitCost {
  readonly count: number;
  /** Null where nothing of it has a price. */
  readonly usd: number | null;
  readonly tokens: number;
  readonly sandboxSeconds: number;
}

export function unitCost(cost: Cost, count: number): UnitCost | null {
  if (count === 0) return null;
  const tokens = Object.values(cost.tokens).reduce((sum, value) => sum + value, 0) + cost.openTokens;
  return {
    count,
    usd: cost.usd === 0 && cost.unpricedTokens + cost.unpricedSeconds > 0 ? null : cost.usd / count,
    tokens: tokens / count,
    sandboxSeconds: cost.sandboxSeconds / count,
  };
}

/** Phases that make a pool: what an admitted task costs. */
export const POOL_PHASES: readonly SpendPhase[] = ["synthesise", "refine", "probe"];
