/** The books of requests that are paid for, of two runs: the same answers, and a request that was sent again counts beside them. */
import { sql } from "kysely";
import { type TokenCounts, totalOf } from "../core/spend.ts";
import type { Db } from "../services/store/index.ts";

/** A request, without surplus candidates': how far those came depends on the moment they were cancelled. */
export interface SpendRow {
  readonly key: string;
  /** Null = its outcome is not known. */
  readonly used: TokenCounts | null;
  readonly settled: boolean;
}

export interface Spending {
  readonly rows: readonly SpendRow[];
  /** Of all candidates. */
  readonly all: { readonly requests: number; readonly answered: number };
}

export interface SpendFigures {
  readonly requests: number;
  /** Set aside, because whoever came after a killed worker sent the request again; `unknown`: of these, the ones paid in full. */
  readonly again: number;
  readonly unknown: number;
  readonly unsettled: number;
  /** Of the requests that count once: equal in both runs. */
  readonly tokens: number;
  /** Of those that were sent before and had an answer. */
  readonly tokensAgain: number;
}

/** The part of a key that says the how many-th earlier request it is. */
const EARLIER = /#\d+$/;
const isEarlier = ({ key }: SpendRow) => EARLIER.test(key);

export async function spending(db: Db, experiment: string): Promise<Spending> {
  const { rows } = await sql<SpendRow & { surplus: boolean }>`
    select s.key, s.used, s.settled_at is not null as settled,
      coalesce(s.candidate > i.last_candidate, false) as surplus
    from spend s
    left join iterations i on i.experiment = s.experiment and i.iteration = s.iteration and i.try = s.try
    where s.experiment = ${experiment} order by s.key`.execute(db);
  return {
    rows: rows.filter(({ surplus }) => !surplus).map(({ key, used, settled }) => ({ key, used, settled })),
    all: { requests: rows.length, answered: rows.filter(({ used }) => used !== null).length },
  };
}

export function spendFigures({ rows }: Spending): SpendFigures {
  const tokens = (of: readonly SpendRow[]) =>
    of.reduce((sum, { used }) => sum + (used === null ? 0 : totalOf(used)), 0);
  const earlier = rows.filter(isEarlier);
  return {
    requests: rows.length,
    again: earlier.length,
    unknown: earlier.filter(({ used }) => used === null).length,
    unsettled: rows.filter(({ settled }) => !settled).length,
    tokens: tokens(rows.filter((row) => !isEarlier(row))),
    tokensAgain: tokens(earlier),
  };
}

/** One line each: what is still reserved, and requests that one run has and the other has not, or has with another answer. */
export function spendProblems(undisturbed: Spending, disturbed: Spending): string[] {
  const counted = ({ rows }: Spending) =>
    new Map(rows.filter((row) => !isEarlier(row)).map(({ key, used }) => [key, used && totalOf(used)]));
  const [left, right] = [counted(undisturbed), counted(disturbed)];
  const keys = [...new Set([...left.keys(), ...right.keys()])].sort();
  const unsettled = (name: string, { rows }: Spending) =>
    rows
      .filter(({ settled }) => !settled)
      .map(({ key }) => `${name}: a reservation without an outcome: ${key}`);
  return [
    ...unsettled("undisturbed", undisturbed),
    ...unsettled("disturbed", disturbed),
    ...keys
      .filter((key) => left.get(key) !== right.get(key))
      .map(
        (key) =>
          `spend ${key}: ${left.get(key) ?? "no"} tokens undisturbed, ${right.get(key) ?? "no"} disturbed`,
      ),
  ];
}

/** Against what the author itself says that it answered: an answer may be lost with the worker that waited for it, and none is invented. */
export function authorProblems(name: string, { all }: Spending, answers: number | null): string[] {
  if (answers === null || (all.answered <= answers && answers <= all.requests)) return [];
  return [
    `${name}: the author answered ${answers} requests, the books have ${all.requests}, ${all.answered} of them answered`,
  ];
}
