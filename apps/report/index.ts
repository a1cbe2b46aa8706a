/** The report of an experiment: one HTML page that needs nothing else, for a browser or for paper. */
import type { ReportData } from "../../services/store/index.ts";
import type { LabelledReport } from "../control/index.ts";
import { climbFigures, updateRows } from "./climb.ts";
import { costSection } from "./cost.ts";
import { headlineTable, improvement, learningCurve } from "./evaluation.ts";
import { exampleSection } from "./example.ts";
import { table } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { noPools, passRateHistograms, poolTable, taskMixFigure } from "./pool.ts";
import { duration, percent } from "./scale.ts";
import { settingTable } from "./settings.ts";
import { STYLE } from "./style.ts";
import { taskPages } from "./tasks.ts";
import { timeFigure } from "./time.ts";

export interface ReportLink {
  readonly text: string;
  /** http or https. */
  readonly href: string;
}

function tiles({ summary }: ReportData): Markup {
  const change = improvement(summary);
  const points = change && (change.last.passAt1 - change.first.passAt1) * 100;
  const tile = (value: string, text: string) =>
    html`<div class="tile"><b>${value}</b><span>${text}</span></div>`;
  return html`<div class="tiles">
${
  change &&
  tile(
    `${percent(change.first.passAt1, 1)} → ${percent(change.last.passAt1, 1)}`,
    `pass@1 on ${change.last.tasks} held-out tasks`,
  )
}
${points !== null && tile(`${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)}`, "percentage points, untrained → trained")}
${tile(summary.rollouts.toLocaleString("en"), "rollouts accepted")}
${tile(duration(summary.timings.seconds), summary.status === "running" ? "so far" : "from start to end")}
</div>`;
}

function header({ summary, stale, settings, codeVersion }: ReportData): Markup {
  return html`<header><p class="kicker">Tadpole experiment</p><h1>${summary.name}</h1>
<p class="meta"><span>${summary.status}</span><span>seed ${summary.seed}</span><span>started ${summary.createdAt.slice(0, 16).replace("T", " ")} UTC</span><span>version ${codeVersion}</span>${
    summary.policy && html`<span>policy <code>${summary.policy.id}</code></span>`
  }</p>
${
  stale.length > 0 &&
  html`<p class="notice">Not shown: ${stale.length > 1 ? "iterations" : "iteration"} ${stale.join(", ")}, which began from what a replay has replaced since (<code>tadpole run</code> runs them again).</p>`
}
${summary.error && html`<p class="notice bad">The experiment failed: ${summary.error}</p>`}
${
  settings.policy.kind === "nano" &&
  html`<p class="notice">This run trained <em>nano</em>, a log-linear repair policy that stands in for a model so that the whole pipeline runs on any machine. Its numbers say nothing about language models.</p>`
}
${
  settings.policy.kind === "stand-in" &&
  html`<p class="notice">No policy made these rollouts, but a <em>stand-in</em> that knows each task's solution and uses it with the chance that the experiment's file gives: ${(settings.policy.passRates ?? []).join(", ")} at levels 0 to 3. Its numbers say nothing about any policy or task.</p>`
}</header>`;
}

function section(title: string, ...content: readonly (Markup | null | false)[]): Markup {
  return html`<section><h2>${title}</h2>\n${content}</section>\n`;
}

function grid(figures: readonly Markup[]): Markup | null {
  return figures.length > 0 ? html`<div class="grid-2">${figures}</div>` : null;
}

function linkList(links: readonly ReportLink[]): Markup {
  const shown = links.map(({ text, href }) => {
    if (!/^https?:\/\//i.test(href))
      throw new TypeError(`report link "${text}": expected http(s), found ${href}`);
    return html`<li><a href="${href}">${text}</a></li>`;
  });
  return html`<ul>${shown}</ul>`;
}

/** Complete HTML document. Throws TypeError on a link that is not http or https. */
export function renderReport(data: LabelledReport, links: readonly ReportLink[] = []): string {
  const { summary } = data;
  const curve = learningCurve(summary);
  const histograms = passRateHistograms(data.pools, data.inForce);
  const mix = taskMixFigure(data.mix);
  const climb = climbFigures(data.updates);
  const time = timeFigure(summary.timings);
  const cost = costSection(data);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${summary.name} – Tadpole report</title><style>${{ markup: STYLE }}</style></head>
<body>
${header(data)}
${tiles(data)}
<main>
${section("Held-out results", headlineTable(summary), curve)}
${section("Task pools", poolTable(summary.iterations), grid([...histograms, ...(mix ? [mix] : [])]) ?? noPools())}
${data.tasks.total > 0 && section(data.tasks.admitted ? "Admitted tasks" : "Tasks that were dropped", ...taskPages(data.tasks))}
${section(
  "Climb",
  grid(climb) ?? html`<p class="empty">No update has been made yet.</p>`,
  data.updates.length > 0 &&
    html`<details class="data"><summary>Every update in numbers</summary>${table(updateRows(data.updates))}</details>`,
)}
${time && section("Time", time)}
${cost && section("Cost", cost)}
${section(
  "Example trajectories",
  ...(data.examples.length > 0
    ? data.examples.map((example, index) => exampleSection(example, index < 2))
    : [html`<p class="empty">No rollout has been graded yet.</p>`]),
)}
${section(
  "Settings",
  html`<details class="data"><summary>All settings</summary>${settingTable(data)}</details>`,
)}
${links.length > 0 && section("Links", linkList(links))}
</main>
</body></html>
`.markup;
}
