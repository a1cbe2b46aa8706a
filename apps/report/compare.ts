/** Experiments compared, as one HTML page that needs nothing else: results, learning curves, pools. */
import type { Estimate } from "../../core/statistics.ts";
import type { Comparison } from "../control/compare.ts";
import { type Cell, figure, table, toneOf } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { axis, linePlot } from "./plot.ts";
import { passRateFigure } from "./pool.ts";
import { percent } from "./scale.ts";
import { STYLE } from "./style.ts";

/** Keeps the whiskers of several arms beside one another, in iterations. */
const DODGE = 0.05;

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

function curves({ arms }: Comparison): Markup {
  const iterations = [...new Set(arms.flatMap(({ curve }) => curve.map(({ iteration }) => iteration)))].sort(
    (a, b) => a - b,
  );
  const last = iterations.at(-1)!;
  const highest = Math.max(...arms.flatMap(({ curve }) => curve.map(({ high }) => high)));
  return figure({
    title: "Learning curves",
    note: "Held-out pass@1 per iteration, all sets and experiments of an arm together; whiskers are 95 % intervals over tasks.",
    legend: arms.map(({ name }, index) => ({ text: name, tone: toneOf(index) })),
    plot: linePlot({
      description: `Held-out pass@1 from iteration ${iterations[0]} to ${last} of ${arms.map(({ name }) => name).join(", ")}`,
      x: { label: "iteration", ticks: iterations.map((at) => ({ at, text: String(at) })) },
      y: axis("pass@1", 0, Math.min(1, Math.max(0.2, highest)), percent),
      domain: [iterations[0]! - 0.15, last + 0.15],
      wide: true,
      lines: arms.map(({ name, curve }, index) => ({
        tone: toneOf(index),
        runs: [
          curve.map(({ iteration, mean, low, high }) => ({
            x: iteration + (index - (arms.length - 1) / 2) * DODGE,
            y: mean,
            low,
            high,
            label: `${name}, iteration ${iteration}: ${percent(mean, 1)} (${percent(low, 1)} – ${percent(high, 1)})`,
          })),
        ],
      })),
    }),
    data: {
      head: ["Iteration", ...arms.map(({ name }) => name)],
      rows: iterations.map((iteration) => [
        String(iteration),
        ...arms.map(({ curve }) => {
          const found = curve.find((point) => point.iteration === iteration);
          return found ? rate(found) : null;
        }),
      ]),
    },
  });
}

const share = (part: number, whole: number): Cell => (whole === 0 ? null : percent(part / whole, 1));

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
      "Groups without variance",
      "Words of a statement",
      "Rollouts of probes",
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
        share(pool.zeroVariance, pool.groups),
        pool.statementWords === null ? null : pool.statementWords.toFixed(0),
        pool.rollouts.probe,
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
${comparison.unequalBudgets && html`<p class="notice">The arms did not make equally many rollouts in their climbs: a difference may be the budget's.</p>`}</header>
<main>
<section><h2>Held-out results</h2>
${results(comparison)}${curves(comparison)}</section>
<section><h2>Task pools</h2>
${poolTable(comparison)}
${histograms.length > 0 && html`<div class="grid-2">${histograms}</div>`}
${mixTable(comparison)}</section>
</main>
</body></html>
`.markup;
}
