/** The books of an experiment's rollouts: what was accepted, lost, done twice, begun again. */
import { sql } from "kysely";
import type { Db } from "./database.ts";

export interface Accounting {
  /** Slots of the groups on record. */
  readonly slots: number;
  /** Slots without an accepted rollout. */
  readonly lost: number;
  /** Slots with more than one accepted rollout, or more than one accepted attempt. */
  readonly duplicated: number;
  readonly attempts: number;
  /** Attempts by their status. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Attempts that went on from the turns of another, with the turns they did not have to sample again. */
  readonly resumed: number;
  readonly resumedTurns: number;
  /** Attempts after the first that began at the first turn, and why as far as they said. */
  readonly startedAnew: number;
  readonly notes: Readonly<Record<string, number>>;
  /** Failed attempts by failure type: only these can have spent a budget. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Over every group of the experiment that is on record; a group is recorded when all of its slots are done. */
export async function accounting(db: Db, experiment: string): Promise<Accounting> {
  const slots = await sql<{ slots: number; lost: number; duplicated: number }>`
    with slot as (
      select g.key || '/' || member as key from groups g, generate_series(0, g.size - 1) member
      where g.experiment = ${experiment}
    )
    select count(*) as slots,
      count(*) filter (where not exists (select from rollouts r where r.key = slot.key)) as lost,
      count(*) filter (where
        (select count(*) from rollouts r where r.group_key || '/' || r.member = slot.key) > 1 or
        (select count(*) from attempts a where a.rollout_key = slot.key and a.status = 'accepted') > 1
      ) as duplicated
    from slot`.execute(db);
  const attempts = await sql<{
    status: string;
    kind: string | null;
    note: string | null;
    resumed: boolean;
    later: boolean;
    attempts: number;
    turns: number;
  }>`
    select status, coalesce(kind, '') as kind, coalesce(note, '') as note, resumed_from is not null as resumed,
      attempt > 1 and resumed_from is null as later,
      count(*) as attempts, coalesce(sum(resumed_turns), 0)::integer as turns
    from attempts where starts_with(rollout_key, ${`${experiment}/`}) group by 1, 2, 3, 4, 5`.execute(db);
  const count = (of: (row: (typeof attempts.rows)[number]) => boolean) =>
    attempts.rows.filter(of).reduce((sum, row) => sum + row.attempts, 0);
  const by = (name: "status" | "kind" | "note", of: (row: (typeof attempts.rows)[number]) => boolean) => {
    const rows = attempts.rows.filter(of);
    return Object.fromEntries(
      [...new Set(rows.map((row) => row[name] ?? ""))]
        .sort()
        .map((value) => [value, count((row) => of(row) && row[name] === value)]),
    );
  };
  return {
    ...slots.rows[0]!,
    attempts: count(() => true),
    byStatus: by("status", () => true),
    resumed: count((row) => row.resumed),
    resumedTurns: attempts.rows.reduce((sum, row) => sum + row.turns, 0),
    startedAnew: count((row) => row.later),
    notes: by("note", (row) => row.note !== ""),
    failures: by("kind", (row) => row.status === "failed"),
  };
}
