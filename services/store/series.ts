/** An experiment over its iterations and updates: what plots are drawn from. */
import { sql } from "kysely";
import type { BatchPace } from "../../core/pace-record.ts";
import { type ProbeResult, poolTasks, probesOf } from "./pools.ts";
import type { Executor } from "./rows.ts";
import { currentTries } from "./summary.ts";

/** Probes by their count of passes. */
export interface PassCounts {
  /** Rollouts per probe: counts[k] probes had k passes, k = 0 … runs. */
  readonly runs: number;
  readonly counts: readonly number[];
}

export interface PoolSeries {
  readonly iteration: number;
  /** Each candidate's first probe, before any refinement. */
  readonly before: PassCounts;
  /** Each candidate's last probe. */
  readonly after: PassCounts;
  /** Each admitted task's last probe. */
  readonly admitted: PassCounts;
}

export interface UpdatePoint {
  readonly iteration: number;
  readonly update: number;
  readonly policy: string | null;
  readonly groups: number;
  readonly kept: number;
  readonly dropped: number;
  /** Share of groups whose raw rewards were all equal; null without groups. */
  readonly zeroVariance: number | null;
  /** Means over the rollouts of all groups offered; null without groups. */
  readonly meanReward: number | null;
  readonly passRate: number | null;
  readonly meanTurns: number | null;
  /** As the trainer reported them; null where no update was made. */
  readonly loss: number | null;
  readonly entropy: number | null;
  readonly gradientNorm: number | null;
  readonly effectiveSampleSize: number | null;
  /** Share of trainable tokens the trust region dropped. */
  readonly maskRate: number | null;
  /** Null where the climb was exact. */
  readonly pace: BatchPace | null;
}

export interface TaskMix {
  readonly iteration: number;
  /** Admitted tasks by `<generator> <type>`, by environment, and by statement level. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly environments: Readonly<Record<string, number>>;
  readonly levels: Readonly<Record<string, number>>;
}

/**
 * Counts of passes of probes of one planned size; probes of another size (settings that changed) are left out. A probe that stopped early
 * counts where its pass rate would have brought it.
 */
export function passCounts(
  probes: readonly Pick<ProbeResult, "passes" | "runs" | "planned" | "rate">[],
): PassCounts {
  const sized = probes.map(({ passes, runs, planned, rate }) =>
    planned === null || rate === null
      ? { passes, runs }
      : { passes: Math.round(rate * planned), runs: planned },
  );
  const runs = sized.reduce((most, probe) => Math.max(most, probe.runs), 0);
  const counts = new Array<number>(runs + 1).fill(0);
  for (const probe of sized) if (probe.runs === runs) counts[probe.passes]!++;
  return { runs, counts };
}

export async function poolSeries(db: Executor, experiment: string): Promise<PoolSeries[]> {
  const series: PoolSeries[] = [];
  for (const row of await currentTries(db, experiment)) {
    const probes = await probesOf(db, row);
    const last = [...new Map(probes.map((probe) => [probe.candidate, probe])).values()];
    series.push({
      iteration: row.iteration,
      before: passCounts(probes.filter((probe) => probe.refinement === 0)),
      after: passCounts(last),
      admitted: passCounts(last.filter((probe) => probe.decision === "admit")),
    });
  }
  return series;
}

export async function updateSeries(db: Executor, experiment: string): Promise<UpdatePoint[]> {
  const points: UpdatePoint[] = [];
  for (const { iteration, try: attempt } of await currentTries(db, experiment)) {
    const { rows } = await sql<Omit<UpdatePoint, "iteration">>`
      select b.update, u.policy, json_array_length(b.groups) as groups, b.kept_groups as kept, b.dropped_groups as dropped,
        b.dropped_groups::double precision / nullif(b.kept_groups + b.dropped_groups, 0) as "zeroVariance",
        r.reward as "meanReward", r.passed as "passRate", r.turns as "meanTurns",
        (u.metrics->>'loss')::double precision as loss,
        (u.metrics->>'entropy')::double precision as entropy,
        (u.metrics->>'gradientNorm')::double precision as "gradientNorm",
        (u.metrics->>'effectiveSampleSize')::double precision as "effectiveSampleSize",
        (u.metrics->>'droppedTokens')::double precision
          / nullif((u.metrics->>'trainableTokens')::double precision, 0) as "maskRate", b.pace
      from batches b
      left join updates u
        on u.experiment = b.experiment and u.iteration = b.iteration and u.try = b.try and u.update = b.update
      left join lateral (
        select avg(reward) as reward, avg(raw_reward) as passed, avg(turns)::double precision as turns
        from rollouts where group_key in (select json_array_elements_text(b.groups))
      ) r on true
      where b.experiment = ${experiment} and b.iteration = ${iteration} and b.try = ${attempt}
      order by b.update`.execute(db);
    points.push(...rows.map((row) => ({ iteration, ...row })));
  }
  return points;
}

export function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of [...values].sort()) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Of the tasks that each iteration admitted. */
export async function taskMix(db: Executor, experiment: string): Promise<TaskMix[]> {
  const mixes: TaskMix[] = [];
  for (const row of await currentTries(db, experiment)) {
    const tasks = await poolTasks(db, row);
    mixes.push({
      iteration: row.iteration,
      kinds: countBy(tasks.map(({ generator, type }) => `${generator} ${type}`)),
      environments: countBy(tasks.map(({ environment }) => environment)),
      levels: countBy(tasks.map(({ level }) => String(level))),
    });
  }
  return mixes;
}
