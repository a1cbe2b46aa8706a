/** A study as text, as JSON, and as a picture of when the trainer was at work. */
import type { Comparison, Row, Study } from "./study.ts";

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

const COLUMNS: readonly { readonly title: string; readonly value: (row: Row) => string }[] = [
  { title: "", value: ({ name }) => name },
  { title: "trainer idle", value: ({ idle }) => percent(idle) },
  { title: "updates/h", value: ({ updatesPerHour }) => updatesPerHour.toFixed(1) },
  { title: "trajectories/h", value: ({ trajectoriesPerHour }) => trajectoriesPerHour.toFixed(0) },
  { title: "engines busy", value: ({ enginesBusy }) => percent(enginesBusy) },
  { title: "mean lag", value: ({ meanLag }) => meanLag.toFixed(2) },
  { title: "greatest", value: ({ greatestLag }) => String(greatestLag) },
  { title: "sampled anew", value: ({ refreshed }) => String(refreshed) },
];

/** A Markdown table. */
export function table(rows: readonly Row[]): string {
  const cells = [
    COLUMNS.map(({ title }) => title),
    ...rows.map((row) => COLUMNS.map(({ value }) => value(row))),
  ];
  const widths = COLUMNS.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)));
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text, i) => (i === 0 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!))).join(" | ")} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join("\n");
}

export function renderText({ settings, schedulers, sameBatch, largerBatch }: Study): string {
  const { engines, trajectories, batch, groupSize, updates, seed } = settings;
  return [
    `${engines.count} engines, ${trajectories} trajectories, batches of ${batch} × ${groupSize}, ${updates} updates, seed ${seed}`,
    table(schedulers),
    "More engines, trainer and trajectories in proportion (lag 3, in flight):",
    table(sameBatch),
    "The batch in proportion, too:",
    table(largerBatch),
  ].join("\n\n");
}

/** Six digits: the rest says nothing. */
export function renderJson(study: Study): string {
  const short = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
  return JSON.stringify(study, short, 2);
}

const WIDTH = 960;
const LEFT = 150;
const LANE = 34;
/** As a reader of light and of dark pages sees it. */
const STYLE = `text { font: 13px system-ui, sans-serif; fill: #57606a } .name { fill: #24292f } .work { fill: #2f81f7 } .idle { fill: #d0d7de }
@media (prefers-color-scheme: dark) { text { fill: #8b949e } .name { fill: #e6edf3 } .idle { fill: #30363d } }`;

/** One lane per scheduler: updates as bars over the time that the slowest of them took. SVG. */
export function picture(schedulers: readonly Comparison[]): string {
  const spans = schedulers.map(({ updates }) => updates.at(-1)!.ended - updates[0]!.began);
  const longest = Math.max(...spans);
  const x = (seconds: number): string => (LEFT + ((WIDTH - LEFT - 70) * seconds) / longest).toFixed(1);
  const lanes = schedulers.map(({ name, idle, updates }, lane) => {
    const top = 30 + lane * LANE;
    const first = updates[0]!.began;
    const bar = (kind: string, from: number, to: number): string =>
      `<rect class="${kind}" x="${x(from)}" y="${top}" width="${(Number(x(to)) - Number(x(from))).toFixed(1)}" height="20"/>`;
    const end = spans[lane]!;
    return [
      `<text class="name" x="${LEFT - 10}" y="${top + 15}" text-anchor="end">${name}</text>`,
      bar("idle", 0, end),
      ...updates.map(({ began, ended }) => bar("work", began - first, ended - first)),
      `<text x="${(Number(x(end)) + 6).toFixed(1)}" y="${top + 15}">${percent(idle)}</text>`,
    ].join("\n");
  });
  const height = 30 + schedulers.length * LANE + 8;
  const hours = (longest / 3600).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="When the trainer is at work, by scheduler">
<style>${STYLE}</style>
<text x="${LEFT}" y="16">the trainer at work (blue) and idle, ${schedulers[0]!.updates.length} updates each, over ${hours} hours</text>
${lanes.join("\n")}
</svg>
`;
}
