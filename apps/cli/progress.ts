/** How a running experiment looks in a terminal: pure functions from a snapshot to lines. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Progress } from "../../services/store/index.ts";
import { formatSeconds } from "./output.ts";

const BARS = "▁▂▃▄▅▆▇█";

/** `▁█▂`: one block per count, scaled to the largest; a dot where there is none. */
export function sparkline(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts
    .map((count) => (count === 0 ? "·" : BARS[Math.ceil((count / most) * BARS.length) - 1]))
    .join("");
}

/** Rough shares of an iteration's work: filling the pool, climbing, selecting and evaluating. */
const WORK = { pool: 0.4, climb: 0.4, select: 0.1 } as const;

/** Preparation and the untrained policy's evaluation, as a share of one iteration's work. */
const PREPARATION = 0.33;

/** Phases of which the time so far says nothing about the rest. */
const AWAY: ReadonlySet<string> = new Set(["done", "failed", "stopped", "taken up again"]);

/** Share of the experiment that is done, 0..1: an estimate for people. */
export function completed(progress: Progress, settings: ExperimentSettings): number {
  if (progress.status === "done") return 1;
  const total = settings.iterations + PREPARATION;
  if (progress.iteration === 0) return PREPARATION / 2 / total;
  const { pool, update } = progress;
  let inside = WORK.pool + WORK.climb + WORK.select;
  if (progress.phase === "pool")
    inside = WORK.pool * Math.min(1, pool.admitted / settings.synthesis.poolTasks);
  else if (progress.phase === "climb") inside = WORK.pool + WORK.climb * (update / settings.climb.updates);
  else if (progress.phase === "select") inside = WORK.pool + WORK.climb;
  return (PREPARATION + progress.iteration - 1 + inside) / total;
}

/** One line: where it is, what that phase has done, and how long the rest may take. */
export function progressLine(progress: Progress, settings: ExperimentSettings): string {
  const share = completed(progress, settings);
  const { elapsedSeconds, iteration, rollouts } = progress;
  // What has ended has nothing left, and how long it takes from where it was taken up again is not known.
  const lasts = progress.status === "running" && !AWAY.has(progress.phase);
  const rest =
    lasts && share > 0.1 ? ` · about ${formatSeconds((elapsedSeconds / share) * (1 - share))} left` : "";
  const head = iteration === 0 ? "prepare" : `iteration ${iteration}/${settings.iterations}`;
  return `${formatSeconds(elapsedSeconds)}  ${head} · ${phaseText(progress, settings)} · ${rollouts} rollouts${rest}`;
}

function phaseText(progress: Progress, settings: ExperimentSettings): string {
  const { pool } = progress;
  switch (progress.phase) {
    case "pool":
      return `pool ${pool.admitted}/${settings.synthesis.poolTasks} admitted of ${pool.candidates} candidates (${pool.rejected} invalid, at most ${settings.synthesis.maxCandidates}), passes 0..${settings.filter.probes} ${sparkline(pool.histogram)}`;
    case "climb":
      return `update ${progress.update}/${settings.climb.updates}${progress.meanReward === null ? "" : `, mean reward ${progress.meanReward.toFixed(2)}`}`;
    case "task sets": {
      const sets = [...Object.values(settings.evaluation.sets), settings.selection.set];
      const wanted = sets.reduce((sum, set) => sum + set.tasks, 0);
      return `task sets, ${Math.min(progress.setTasks, wanted)} of ${wanted} held-out and validation tasks`;
    }
    case "select":
      return "validating checkpoints";
    case "finished":
      return "evaluating on the held-out tasks";
    default:
      return progress.phase;
  }
}
