/** How a candidate was changed until it fit, what each change did to its pass rate, and what training on the result did. */
import { type Selectable, sql } from "kysely";
import type { Diagnosis } from "../../core/diagnosis.ts";
import type { ProbeDecision } from "../../core/refinement.ts";
import { type Interval, wilson } from "../../core/statistics.ts";
import { scopeSql } from "./keys.ts";
import type { Executor } from "./rows.ts";
import type { Database } from "./schema.ts";

/** A pass rate with what it was counted from; the interval is Wilson's, 95 %. */
export interface MeasuredRate extends Interval {
  readonly passes: number;
  readonly runs: number;
  /** As the probe estimates it, which stopping early does not bias. */
  readonly rate: number;
}

/** One wording of one task at one level, as it was probed. */
export interface Revision {
  readonly refinement: number;
  readonly taskId: string;
  readonly level: number;
  readonly policy: string;
  /** Hash of the statement; null where it is not on record. */
  readonly statement: string | null;
  /** Hash of what the rate before rests on (core/label.ts). */
  readonly labelKey: string;
  readonly before: MeasuredRate;
  /** Of an action other than `admit` and `drop`: it made the next revision. */
  readonly action: ProbeDecision;
  readonly diagnosis: Diagnosis | null;
  /** Of the revision that the action made; null where it made none. */
  readonly after: MeasuredRate | null;
}

/** Groups of one update of a climb. */
export interface ClimbedRate extends MeasuredRate {
  readonly update: number;
  readonly policy: string;
}

export interface Lineage {
  /** `<experiment>/it/<i>/try/<k>`. */
  readonly scope: string;
  readonly candidate: number;
  /** Oldest first; at least one. */
  readonly revisions: readonly Revision[];
  /** Of the climb on the task that was admitted, by update; empty where it was not climbed. Its training effect is the last against the first. */
  readonly climb: readonly ClimbedRate[];
}

type Probe = Selectable<Database["probes"]> & { readonly statement: string | null };

function measured(passes: number, runs: number, rate: number | null = null): MeasuredRate {
  return { passes, runs, rate: rate ?? passes / runs, ...wilson(passes, runs) };
}

const rateOf = (probe: Probe): MeasuredRate => measured(probe.passes, probe.runs, probe.rate);

/** Every candidate that the task is a revision of, by scope and candidate. */
export async function taskLineage(db: Executor, taskId: string): Promise<Lineage[]> {
  const probes = await db
    .selectFrom("probes as p")
    .leftJoin("statements as s", (join) =>
      join.onRef("s.task_id", "=", "p.task_id").onRef("s.level", "=", "p.level"),
    )
    .selectAll("p")
    .select("s.hash as statement")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("probes as own")
          .select("own.task_id")
          .whereRef("own.scope", "=", "p.scope")
          .whereRef("own.candidate", "=", "p.candidate")
          .where("own.task_id", "=", taskId),
      ),
    )
    .orderBy("p.scope")
    .orderBy("p.candidate")
    .orderBy("p.refinement")
    .execute();
  const candidates = Map.groupBy(probes, ({ scope, candidate }) => `${scope} ${candidate}`);
  return Promise.all([...candidates.values()].map((own) => lineageOf(db, own)));
}

async function lineageOf(db: Executor, probes: readonly Probe[]): Promise<Lineage> {
  const last = probes.at(-1)!;
  return {
    scope: last.scope,
    candidate: last.candidate,
    revisions: probes.map((probe, i) => ({
      refinement: probe.refinement,
      taskId: probe.task_id,
      level: probe.level,
      policy: probe.policy,
      statement: probe.statement,
      labelKey: probe.label_key,
      before: rateOf(probe),
      action: probe.decision,
      diagnosis: probe.diagnosis as Diagnosis | null,
      after: probes[i + 1] === undefined ? null : rateOf(probes[i + 1]!),
    })),
    climb: last.decision === "admit" ? await climbOf(db, last) : [],
  };
}

/** Where the probe was the first update's group, it is counted there too: those are the rollouts that were trained on. */
async function climbOf(db: Executor, { scope, task_id, level }: Probe): Promise<ClimbedRate[]> {
  const { rows } = await sql<{ update: number; policy: string; passes: number; runs: number }>`
    select b.update, g.policy, sum(g.passes)::int as passes, sum(g.size)::int as runs
    from batches b
    cross join lateral json_array_elements_text(b.groups) as key
    join groups g on g.key = key.value
    where ${scopeSql("b")} = ${scope}
      and g.task_id = ${task_id} and g.level = ${level}
    group by b.update, g.policy order by b.update`.execute(db);
  return rows.map(({ update, policy, passes, runs }) => ({ update, policy, ...measured(passes, runs) }));
}
