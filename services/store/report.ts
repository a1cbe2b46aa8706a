/** Everything a report shows, read in one go. */
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { type Amendment, amendedAtOnce, pinnedSettings } from "../../core/steering.ts";
import type { ArtifactStore } from "./artifacts.ts";
import { type CostRecord, readCost } from "./cost.ts";
import { type RolloutDetail, showRollout } from "./details.ts";
import { ArtifactError } from "./errors.ts";
import { type ExperimentRow, getExperiment, type IterationRow } from "./experiments.ts";
import { type ReportTasks, reportTasks } from "./report-tasks.ts";
import type { Executor } from "./rows.ts";
import {
  type PoolSeries,
  poolSeries,
  type TaskMix,
  taskMix,
  type UpdatePoint,
  updateSeries,
} from "./series.ts";
import { currentTries, type ExperimentSummary, showExperiment } from "./summary.ts";

export interface ReportExample {
  /** Why it is shown. */
  readonly caption: string;
  readonly rollout: RolloutDetail;
}

export interface InForce {
  /** They hold until the next one in the list. */
  readonly fromIteration: number;
  readonly settings: ExperimentSettings;
}

export interface ReportData {
  /** Without stale iterations. */
  readonly summary: ExperimentSummary;
  /** Iterations that are left out: a replay of an earlier one has replaced what they began from. */
  readonly stale: readonly number[];
  /** As the file has them. */
  readonly settings: ExperimentSettings;
  /** What the latest try of each iteration ran with, then what was amended for those to come. */
  readonly inForce: readonly InForce[];
  readonly codeVersion: string;
  readonly pools: readonly PoolSeries[];
  readonly updates: readonly UpdatePoint[];
  readonly mix: readonly TaskMix[];
  readonly cost: CostRecord;
  readonly tasks: ReportTasks;
  /** At most three. */
  readonly examples: readonly ReportExample[];
}

interface ExampleKeys {
  readonly before: string | null;
  readonly after: string | null;
  readonly failed: string | null;
}

/** Rollouts of held-out sets (`<experiment>/eval/<set>/<mode>/…`) by one policy, whichever iteration or try asked for them. */
const measuredBy = (experiment: string, sets: readonly string[], policy: string | null) => sql`
  select r.key, r.task_id, r.member, r.outcome, split_part(g.key, '/', 4) as mode
  from groups g join rollouts r on r.group_key = g.key
  where g.experiment = ${experiment} and g.phase = 'evaluate' and g.policy = ${policy}::text
    and r.outcome in ('passed', 'failed')
    and split_part(g.key, '/', 3) = any(${sets}::text[]) and split_part(g.key, '/', 4) in ('sampled', 'greedy')`;

/**
 * Keys of the first held-out task, in key order, that the start policy failed and the policy of the last measured iteration solved, with
 * both rollouts; and of a task that policy failed. Earlier tries, and checkpoints that were not chosen, are none of it.
 */
async function evaluatedExamples(
  db: Executor,
  { name, iterations }: ExperimentSummary,
  sets: readonly string[],
): Promise<ExampleKeys> {
  const measured = iterations.filter(({ evaluation, policy }) => evaluation !== null && policy !== null);
  const [first, last] = [measured[0], measured.at(-1)];
  const before = first?.iteration === 0 ? first.policy!.id : null;
  const { rows } = await sql<ExampleKeys>`
    with before as (${measuredBy(name, sets, before)}), after as (${measuredBy(name, sets, last?.policy?.id ?? null)}),
    solved as (
      select b.key as before, a.key as after
      from before b join after a on a.task_id = b.task_id and a.member = b.member and a.mode = b.mode
      where b.outcome = 'failed' and a.outcome = 'passed'
      order by b.task_id, b.key, a.key limit 1
    )
    select (select before from solved) as before, (select after from solved) as after,
      (select key from after where outcome = 'failed' order by task_id, key limit 1) as failed`.execute(db);
  return rows[0]!;
}

/** The first graded training rollouts of latest tries, solved ones first: what there is before anything was evaluated. */
async function trainingExamples(db: Executor, experiment: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select r.key from groups g join rollouts r on r.group_key = g.key
    where g.experiment = ${experiment} and g.phase <> 'evaluate' and r.outcome in ('passed', 'failed')
      and not exists (select from iterations i
        where i.experiment = g.experiment and i.iteration = g.iteration and (i.try > g.try or i.try = g.try and i.stale))
    order by r.outcome desc, r.key limit 3`.execute(db);
  return rows.map((row) => row.key);
}

async function chooseExamples(
  db: Executor,
  summary: ExperimentSummary,
  settings: ExperimentSettings,
): Promise<[key: string, caption: string][]> {
  const sets = Object.keys(settings.evaluation.sets);
  const { before, after, failed } = await evaluatedExamples(db, summary, sets);
  const chosen: [string, string][] = [];
  if (before !== null && after !== null)
    chosen.push(
      [before, "The untrained policy on a held-out task"],
      [after, "The trained policy on the same task"],
    );
  if (failed !== null && failed !== before) chosen.push([failed, "A held-out task that was not solved"]);
  for (const key of await trainingExamples(db, summary.name))
    if (chosen.length < 3) chosen.push([key, "A rollout of training"]);
  return chosen;
}

/** A try has its settings pinned, overrides of a replay included; but for those that no iteration has. */
function settingsInForce(experiment: ExperimentRow, tries: readonly IterationRow[]): InForce[] {
  const settings = experiment.settings as ExperimentSettings;
  const amendments = experiment.amendments as readonly Amendment[];
  const ran = tries.map(({ iteration, pinned }) => ({
    fromIteration: iteration,
    settings: amendedAtOnce((pinned as Pick<InForce, "settings">).settings, amendments, iteration),
  }));
  const last = ran.at(-1)?.fromIteration ?? 0;
  const coming = new Set(amendments.map(({ fromIteration }) => fromIteration).filter((from) => from > last));
  return [
    ...ran,
    ...[...coming]
      .sort((a, b) => a - b)
      .map((from) => ({ fromIteration: from, settings: pinnedSettings(settings, amendments, from) })),
  ];
}

/** Throws StoreError `missing`. An example whose artifact is gone or damaged is left out: the rest is still worth reading. */
export async function collectReport(
  db: Executor,
  artifacts: ArtifactStore,
  name: string,
): Promise<ReportData> {
  const experiment = await getExperiment(db, name);
  const settings = experiment.settings as ExperimentSettings;
  const [whole, tries, pools, updates, mix] = await Promise.all([
    showExperiment(db, name),
    currentTries(db, name),
    poolSeries(db, name),
    updateSeries(db, name),
    taskMix(db, name),
  ]);
  const summary = { ...whole, iterations: whole.iterations.filter(({ stale }) => !stale) };
  const chosen = await chooseExamples(db, summary, settings);
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
    stale: whole.iterations.flatMap(({ iteration, stale }) => (stale ? [iteration] : [])),
    settings,
    inForce: settingsInForce(experiment, tries),
    codeVersion: experiment.code_version,
    pools,
    updates,
    mix,
    cost: await readCost(db, name),
    tasks: await reportTasks(db, artifacts, name, tries),
    examples,
  };
}
