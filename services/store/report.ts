/** Everything a report shows, read in one go. */
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { type RolloutDetail, showRollout } from "./details.ts";
import { ArtifactError } from "./errors.ts";
import { getExperiment } from "./experiments.ts";
import type { Executor } from "./rows.ts";
import {
  type PoolSeries,
  poolSeries,
  type TaskMix,
  taskMix,
  type UpdatePoint,
  updateSeries,
} from "./series.ts";
import { type ExperimentSummary, showExperiment } from "./summary.ts";

export interface ReportExample {
  /** Why it is shown. */
  readonly caption: string;
  readonly rollout: RolloutDetail;
}

export interface ReportData {
  readonly summary: ExperimentSummary;
  readonly settings: ExperimentSettings;
  readonly codeVersion: string;
  readonly pools: readonly PoolSeries[];
  readonly updates: readonly UpdatePoint[];
  readonly mix: readonly TaskMix[];
  /** At most three. */
  readonly examples: readonly ReportExample[];
}

interface ExampleKeys {
  readonly before: string | null;
  readonly after: string | null;
  readonly failed: string | null;
}

/**
 * Keys of the first task, in key order, that the start policy failed and the last measured policy solved, with both rollouts; and of a task
 * the last policy failed.
 */
async function evaluatedExamples(db: Executor, experiment: string): Promise<ExampleKeys> {
  const { rows } = await sql<ExampleKeys>`
    with evaluated as (
      select r.key, r.task_id, r.member, r.outcome, g.iteration
      from groups g join rollouts r on r.group_key = g.key
      where g.experiment = ${experiment} and g.phase = 'evaluate' and r.outcome in ('passed', 'failed')
    ), last as (select max(iteration) as iteration from evaluated),
    solved as (
      select a.key as before, b.key as after
      from evaluated a join evaluated b on b.task_id = a.task_id and b.member = a.member
      where a.iteration = 0 and a.outcome = 'failed' and b.outcome = 'passed'
        and b.iteration = (select iteration from last) and b.iteration > 0
      order by a.task_id, a.key, b.key limit 1
    )
    select (select before from solved) as before, (select after from solved) as after,
      (select key from evaluated where outcome = 'failed' and iteration = (select iteration from last)
        order by task_id, key limit 1) as failed`.execute(db);
  return rows[0]!;
}

/** The first graded training rollouts, solved ones first: what there is before anything was evaluated. */
async function trainingExamples(db: Executor, experiment: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select r.key from groups g join rollouts r on r.group_key = g.key
    where g.experiment = ${experiment} and g.phase <> 'evaluate' and r.outcome in ('passed', 'failed')
    order by r.outcome desc, r.key limit 3`.execute(db);
  return rows.map((row) => row.key);
}

async function chooseExamples(db: Executor, experiment: string): Promise<[key: string, caption: string][]> {
  const { before, after, failed } = await evaluatedExamples(db, experiment);
  const chosen: [string, string][] = [];
  if (before !== null && after !== null)
    chosen.push(
      [before, "The untrained policy on a held-out task"],
      [after, "The trained policy on the same task"],
    );
  if (failed !== null && failed !== before) chosen.push([failed, "A held-out task that was not solved"]);
  for (const key of await trainingExamples(db, experiment))
    if (chosen.length < 3) chosen.push([key, "A rollout of training"]);
  return chosen;
}

/** Throws StoreError `missing`. An example whose artifact is gone or damaged is left out: the rest is still worth reading. */
export async function collectReport(
  db: Executor,
  artifacts: ArtifactStore,
  name: string,
): Promise<ReportData> {
  const experiment = await getExperiment(db, name);
  const [summary, pools, updates, mix, chosen] = await Promise.all([
    showExperiment(db, name),
    poolSeries(db, name),
    updateSeries(db, name),
    taskMix(db, name),
    chooseExamples(db, name),
  ]);
  const examples: ReportExample[] = [];
  for (const [key, caption] of chosen) {
    try {
      examples.push({ caption, rollout: await showRollout(db, artifacts, key) });
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
    }
  }
  return {
    summary,
    settings: experiment.settings as ExperimentSettings,
    codeVersion: experiment.code_version,
    pools,
    updates,
    mix,
    examples,
  };
}
