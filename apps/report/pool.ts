/** Task pools: learnability before and after refinement, and what kinds of tasks were admitted. */
import { admittedPasses, type LearnabilityBand } from "../../core/learnability.ts";
import type { InForce, IterationSummary, PoolSeries, TaskMix } from "../../services/store/index.ts";
import { figure, table, toneOf } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { groupedBars, stackedBars } from "./plot.ts";

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Tasks by their passes, at the first probe and after refinement; null where nothing was probed. */
export function passRateFigure(
  title: string,
  { before, after }: Pick<PoolSeries, "before" | "after">,
  band?: LearnabilityBand,
): Markup | null {
  if (sum(before.counts) === 0) return null;
  const categories = before.counts.map((_, passes) => `${passes}/${before.runs}`);
  const { min, max } = band === undefined ? { min: 1, max: 0 } : admittedPasses(before.runs, band);
  // Probes of another size than the first ones are not on the same scale.
  const later = after.runs === before.runs ? after.counts : before.counts.map(() => 0);
  return figure({
    title,
    legend: [
      { text: "first probe", tone: 0 },
      { text: "after refinement", tone: 1 },
    ],
    plot: groupedBars({
      description: `Tasks by passes of ${before.runs} rollouts, before and after their statements were refined`,
      categories,
      xLabel: `passes of ${before.runs} rollouts`,
      yLabel: "tasks",
      series: [
        { name: "at the first probe", tone: 0, values: before.counts },
        { name: "after refinement", tone: 1, values: later },
      ],
      ...(min <= max ? { region: { from: min, to: max, text: "admitted" } } : {}),
    }),
    data: {
      head: ["Passes", "First probe", "After refinement"],
      rows: categories.map((category, i) => [category, before.counts[i]!, later[i]!]),
    },
  });
}

/** One histogram of pass counts per iteration, the admitted band shaded. */
export function passRateHistograms(
  pools: readonly PoolSeries[],
  inForce: readonly InForce[],
): readonly Markup[] {
  return pools.flatMap((pool) => {
    const { filter } = inForce.find(({ fromIteration }) => fromIteration === pool.iteration)!.settings;
    const title = `Pass rate of probed tasks, iteration ${pool.iteration}`;
    return passRateFigure(title, pool, filter.enabled ? filter.band : undefined) ?? [];
  });
}

export function poolTable(iterations: readonly IterationSummary[]): Markup | null {
  const rows = iterations.flatMap(({ iteration, pool }) =>
    pool ? [[iteration, pool.admitted, pool.hinted ?? 0, pool.refined, pool.dropped]] : [],
  );
  if (rows.length === 0) return null;
  return table({ head: ["Iteration", "Admitted", "With a hint", "Refined", "Left out"], rows });
}

export function taskMixFigure(mixes: readonly TaskMix[]): Markup | null {
  const filled = mixes.filter(({ kinds }) => Object.keys(kinds).length > 0);
  if (filled.length === 0) return null;
  const kinds = [...new Set(filled.flatMap((mix) => Object.keys(mix.kinds)))].sort();
  const environments = [...new Set(filled.flatMap((mix) => Object.keys(mix.environments)))].sort();
  const levels = [...new Set(filled.flatMap((mix) => Object.keys(mix.levels)))].sort();
  return figure({
    title: "Task mix",
    note: "Admitted tasks by generator and type.",
    legend: kinds.map((text, index) => ({ text, tone: toneOf(index) })),
    plot: stackedBars(
      `Admitted tasks per iteration by ${kinds.join(", ")}`,
      filled.map((mix) => ({
        label: `iteration ${mix.iteration}`,
        text: String(sum(Object.values(mix.kinds))),
        parts: kinds.map((kind, index) => ({
          name: `${mix.kinds[kind] ?? 0} × ${kind}`,
          tone: toneOf(index),
          value: mix.kinds[kind] ?? 0,
        })),
      })),
    ),
    data: {
      head: ["Iteration", ...kinds, ...environments, ...levels.map((level) => `statement level ${level}`)],
      rows: filled.map((mix) => [
        mix.iteration,
        ...kinds.map((kind) => mix.kinds[kind] ?? 0),
        ...environments.map((environment) => mix.environments[environment] ?? 0),
        ...levels.map((level) => mix.levels[level] ?? 0),
      ]),
    },
  });
}

export function noPools(): Markup {
  return html`<p class="empty">No task has been probed yet.</p>`;
}
