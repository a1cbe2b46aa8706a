/** Why a pool admitted nothing, and where to look: the text that its iteration fails with. */
import { tryId } from "./ids.ts";
import type { Scope } from "./scope.ts";

export interface EmptyPool {
  /** Candidates that were tried. */
  readonly candidates: number;
  /** Why they were left out, a gate or the filter's reason; absent of a pool from before it was counted. */
  readonly reasons?: Readonly<Record<string, number>>;
  /** Of them, those that became a task; absent likewise. */
  readonly valid?: number;
  /** Indices that were never tried, by why. */
  readonly leftOut?: Readonly<Record<string, number>>;
}

/** The most frequent ones; more would hide them. */
const REASONS = 4;

/** What is carried from run to run stays small, however many texts a model's failures have. */
const DISTINCT = 20;

/** Counts a reason by its words before the first colon: what follows is about one candidate alone. */
export function countReason(reasons: Record<string, number>, reason: string): void {
  const kind = reason.split(":")[0]!.slice(0, 60);
  const name = Object.hasOwn(reasons, kind) || Object.keys(reasons).length < DISTINCT ? kind : "others";
  reasons[name] = (reasons[name] ?? 0) + 1;
}

export function emptyPool(pool: EmptyPool, scope: Scope, policy: string): string {
  const { candidates, valid, reasons = {}, leftOut = {} } = pool;
  const untried = Object.values(leftOut).reduce((sum, count) => sum + count, 0);
  const facts = [
    `${candidates} candidates were tried against ${policy}`,
    ...(valid === undefined ? [] : [`${valid} of them valid tasks`]),
    ...(untried === 0 ? [] : [`${untried} more were drawn and not tried (${frequent(leftOut)})`]),
  ];
  const left = Object.keys(reasons).length === 0 ? "" : `; left out by ${frequent(reasons)}`;
  return `no task was admitted: ${facts.join(", ")}${left}. ${advice(pool)} tadpole pool ${scope.experiment} shows the candidates of ${tryId(scope)} by outcome.`;
}

function frequent(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1));
  const rest = sorted.slice(REASONS).reduce((sum, [, count]) => sum + count, 0);
  return [
    ...sorted.slice(0, REASONS).map(([reason, count]) => `${reason} ${count}`),
    ...(rest === 0 ? [] : [`others ${rest}`]),
  ].join(", ");
}

/** What would help depends on where they were lost. */
function advice({ candidates, valid }: EmptyPool): string {
  if (candidates === 0) return "Add environments, or other generators (synthesis.mix).";
  if (valid === 0)
    return "Look at what the gates said; add environments, or other generators (synthesis.mix).";
  return "Widen filter.band, allow other levels of statements (synthesis.minLevel, maxLevel), or raise synthesis.maxCandidates.";
}
