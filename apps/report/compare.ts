/** Experiments compared, as one HTML page that needs nothing else: results, learning curves, pools. */
import type { Estimate } from "../../core/statistics.ts";
import type { Churn } from "../../services/store/index.ts";
import { type ComparedArmResult, type Comparison, unfinished } from "../control/compare.ts";
import { type Cell, figure, table, toneOf } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { axis, linePlot } from "./plot.ts";
import { passRateFigure } from "./pool.ts";
import { percent } from "./scale.ts";
import { STYLE } from "./style.ts";

const BY_ITERATION: Over = {
  title: "Learning curves",
  note: "Held-out pass@1 per iteration, all sets and experiments of an arm together; whiskers are 95 % intervals over tasks.",
  unit: "iteration",
  of: ({ iteration }) => iteration,
  dodge: 0.05,
};
const BY_ROLLOUTS: Over = {
  title: "Learning curves over rollouts",
  note: "The same over what it took: rollouts of probes and of the climb, mean of the experiments of an arm.",
  unit: "rollouts",
  of: ({ rollouts }) => rollouts,
  dodge: 0,
};

const points = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value * 100).toFixed(1)}`;

const rate = (found: Estimate): Cell =>
  html`<strong>${percent(found.mean, 1)}</strong> <span class="interval">${percent(found.low)} – ${percent(found.high)}</span>`;

const difference = (found: Estimate | null): Cell =>
  found &&
  html`<strong>${points(found.mean)}</strong> <span class="interval">${points(found.low)} – ${points(found.high)}</span>`;

function results({ arms }: Comparison): Markup {
  return table({
    head: [
      "Arm",
      "Experiments",
      "Held-out tasks",
      "Untrained",
      "At the end",
      "Gain, points",
      `Against ${arms[0]!.name}, points`,
    ],
    rows: arms.map(({ name, experiments, tasks, curve, gain, difference: against }) => [
      name,
      experiments.join(", "),
      tasks,
      curve[0]!.iteration === 0 ? rate(curve[0]!) : null,
      html`${rate(curve.at(-1)!) as Markup} <span class="size">iteration ${curve.at(-1)!.iteration}</span>`,
      difference(gain),
      difference(against),
    ]),
  });
}

/** What a learning curve is drawn over. */
interface Over {
  readonly title: string;
  readonly note: string;
  readonly unit: string;
  readonly of: (point: ComparedArmResult["curve"][number]) => number;
  /** Keeps the whiskers of several arms beside one another, in the unit. */
  readonly dodge: number;
}

function curves({ arms }: Comparison, { title, note, unit, of, dodge }: Over): Markup {
  const places = arms.flatMap(({ curve }) => curve.map(of));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const margin = Math.max(dodge, (last - first) * 0.03);
  const highest = Math.max(...arms.flatMap(({ curve }) => curve.map(({ high }) => high)));
  const rows = arms.flatMap(({ name, curve }) =>
    curve.map((point) => [name, String(point.iteration), point.rollouts.toFixed(0), rate(point)]),
  );
  return figure({
    title,
    note,
    legend: arms.map(({ name }, index) => ({ text: name, tone: toneOf(index) })),
    plot: linePlot({
      description: `Held-out pass@1 from ${unit} ${first} to ${last} of ${arms.map(({ name }) => name).join(", ")}`,
      x: { label: unit, ticks: ticksOf(places) },
      y: axis("pass@1", 0, Math.min(1, Math.max(0.2, highest)), percent),
      domain: [first - margin, last + margin],
      wide: true,
      lines: arms.map(({ name, curve }, index) => ({
        tone: toneOf(index),
        runs: [
          curve.map((point) => ({
            x: of(point) + (index - (arms.length - 1) / 2) * dodge,
            y: point.mean,
            low: point.low,
            high: point.high,
            label: `${name}, ${unit} ${of(point).toFixed(0)}: ${percent(point.mean, 1)} (${percent(point.low, 1)} – ${percent(point.high, 1)})`,
          })),
        ],
      })),
    }),
    data: { head: ["Arm", "Iteration", "Rollouts", "pass@1"], rows },
  });
}

/** Few numbers are named as they are; of many, round ones in between. */
function ticksOf(places: readonly number[]): { readonly at: number; readonly text: string }[] {
  const distinct = [...new Set(places)].sort((a, b) => a - b);
  if (distinct.every(Number.isInteger) && distinct.length <= 10)
    return distinct.map((at) => ({ at, text: String(at) }));
  return [...axis("", 0, distinct.at(-1)!, (value) => value.toLocaleString("en")).ticks];
}

const share = (part: number, whole: number): Cell => (whole === 0 ? null : percent(part / whole, 1));

const churned = (found: Churn | undefined): Cell => (found === undefined ? null : share(found.new, found.of));

function poolTable({ arms }: Comparison): Markup {
  return table({
    head: [
      "Experiment",
      "Arm",
      "Candidates",
      "Valid",
      "Learnable at the first probe",
      "After refinement",
      "Admitted",
      "With a hint",
      "Groups without variance",
      "Mean words of a statement",
      "New functions",
      "New files",
      "Updates",
      "Rollouts of probes",
      "Of hints",
      "Of the climb",
    ],
    rows: arms.flatMap(({ name, pools }) =>
      pools.map((pool) => [
        pool.experiment,
        name,
        pool.candidates,
        pool.valid,
        share(pool.learnableAtFirst, pool.probed),
        share(pool.learnableAtLast, pool.probed),
        pool.admitted,
        pool.hinted,
        share(pool.zeroVariance, pool.groups),
        pool.statementWords === null ? null : pool.statementWords.toFixed(0),
        churned(pool.churn?.functions),
        churned(pool.churn?.files),
        pool.updates,
        pool.rollouts.probe,
        pool.rollouts.hints,
        pool.rollouts.climb,
      ]),
    ),
  });
}

function mixTable({ arms }: Comparison): Markup {
  const pools = arms.flatMap(({ pools }) => pools);
  const kinds = [...new Set(pools.flatMap(({ kinds: own }) => Object.keys(own)))].sort();
  return table({
    head: ["Admitted tasks", ...kinds],
    rows: pools.map(({ experiment, kinds: own }) => [experiment, ...kinds.map((kind) => own[kind] ?? 0)]),
  });
}

/** Complete HTML document. */
export function renderComparison(comparison: Comparison): string {
  const names = comparison.arms.map(({ name }) => name).join(", ");
  const pools = comparison.arms.flatMap(({ pools }) => pools);
  const histograms = pools.flatMap(
    ({ experiment, firstProbe: before, lastProbe: after }) =>
      passRateFigure(`Pass rate of probed tasks, ${experiment}`, { before, after }) ?? [],
  );
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${names} – Tadpole comparison</title><style>${{ markup: STYLE }}</style></head>
<body>
<header><p class="kicker">Tadpole comparison</p><h1>${names}</h1>
${comparison.unequalBudgets && html`<p class="notice">The arms did not make equally many rollouts, probes among them: a difference may be the budget's.</p>`}${unfinished(comparison).map((line) => html`<p class="notice">${line}.</p>`)}</header>
<main>
<section><h2>Held-out results</h2>
${results(comparison)}${curves(comparison, BY_ITERATION)}${curves(comparison, BY_ROLLOUTS)}</section>
<section><h2>Task pools</h2>
${poolTable(comparison)}
<p class="meta">Groups without variance are counted over the groups that the climb sampled itself: probes that became groups are mixed by choice. New functions and files are those of an iteration's tasks that the iteration before had none of.</p>
${histograms.length > 0 && html`<div class="grid-2">${histograms}</div>`}
${mixTable(comparison)}</section>
</main>
</body></html>
`.markup;
}
