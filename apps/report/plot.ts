/**
 * Plots as SVG text: lines with intervals, grouped bars, horizontal stacked bars. Pure: data in, markup out. Colours are the style
 * sheet's classes `tone-0` …, so that one picture serves light, dark and paper.
 */
import { html, type Markup } from "./html.ts";
import { linear, ticks } from "./scale.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Ends of the whisker, where there is an interval. */
  readonly low?: number;
  readonly high?: number;
  /** What pointing at it says. */
  readonly label: string;
}

export interface Line {
  readonly tone: number;
  readonly dashed?: boolean;
  /** Each run is drawn as one connected line. */
  readonly runs: readonly (readonly Point[])[];
}

export interface Axis {
  readonly label: string;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Units are pixels at the size the page gives a plot: half of its width, or all of it. */
function frame(wide: boolean): Frame {
  const [width, height] = wide ? [1040, 320] : [520, 250];
  return { width, height, left: 64, right: width - 14, top: 24, bottom: height - 42 };
}

/** Coordinates to a tenth of a unit: enough for the eye, and the same text on every machine. */
const at = (value: number): string => String(Math.round(value * 10) / 10);

function picture(width: number, height: number, description: string, content: readonly Markup[]): Markup {
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${description}">${content}</svg>`;
}

/** Ticks of a quantity with its numbers spelled by `format`. */
export function axis(
  label: string,
  min: number,
  max: number,
  format: (value: number) => string,
  count = 5,
): Axis {
  return { label, ticks: ticks(min, max, count).map((value) => ({ at: value, text: format(value) })) };
}

function extent(chosen: Axis): [number, number] {
  const places = chosen.ticks.map((tick) => tick.at);
  return [Math.min(...places), Math.max(...places)];
}

function yAxis(area: Frame, y: Axis, scale: (value: number) => number): Markup {
  return html`${y.ticks.map(
    ({
      at: place,
      text,
    }) => html`<line class="grid" x1="${area.left}" x2="${area.right}" y1="${at(scale(place))}" y2="${at(scale(place))}"/>
<text class="tick" x="${area.left - 7}" y="${at(scale(place) + 4)}" text-anchor="end">${text}</text>`,
  )}<text class="axis" transform="translate(12 ${at((area.top + area.bottom) / 2)}) rotate(-90)" text-anchor="middle">${y.label}</text>`;
}

function xAxis(area: Frame, x: Axis, scale: (value: number) => number): Markup {
  return html`<line class="base" x1="${area.left}" x2="${area.right}" y1="${area.bottom}" y2="${area.bottom}"/>${x.ticks.map(
    ({ at: place, text }) =>
      html`<text class="tick" x="${at(scale(place))}" y="${area.bottom + 17}" text-anchor="middle">${text}</text>`,
  )}<text class="axis" x="${at((area.left + area.right) / 2)}" y="${area.height - 6}" text-anchor="middle">${x.label}</text>`;
}

export interface LinePlot {
  readonly description: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Range of x shown; the ticks may cover less. */
  readonly domain: readonly [number, number];
  readonly lines: readonly Line[];
  /** Takes the page's whole width. */
  readonly wide?: boolean;
  /** Vertical marks with a caption, such as the start of an iteration. */
  readonly marks?: readonly { readonly at: number; readonly text: string }[];
}

export function linePlot(plot: LinePlot): Markup {
  const area = frame(plot.wide ?? false);
  const x = linear(plot.domain[0], plot.domain[1], area.left + 10, area.right - 10);
  const y = linear(...extent(plot.y), area.bottom, area.top);
  const marks = (plot.marks ?? []).map(
    (
      mark,
    ) => html`<line class="mark" x1="${at(x(mark.at))}" x2="${at(x(mark.at))}" y1="${area.top - 4}" y2="${area.bottom}"/>
<text class="tick" x="${at(x(mark.at))}" y="${area.top - 8}">${mark.text}</text>`,
  );
  const lines = plot.lines.map(
    ({ tone, dashed, runs }) =>
      html`<g class="tone-${tone}">${runs.map((points) => [
        html`<polyline class="line${dashed ? " dashed" : ""}" points="${points
          .map((point) => `${at(x(point.x))},${at(y(point.y))}`)
          .join(" ")}"/>`,
        ...points.map((point) =>
          whiskeredDot(point, x(point.x), y, { hollow: dashed ?? false, small: points.length > 40 }),
        ),
      ])}</g>`,
  );
  return picture(area.width, area.height, plot.description, [
    yAxis(area, plot.y, y),
    ...marks,
    xAxis(area, plot.x, x),
    ...lines,
  ]);
}

function whiskeredDot(
  point: Point,
  x: number,
  y: (value: number) => number,
  dot: { readonly hollow: boolean; readonly small: boolean },
): Markup {
  const whisker =
    point.low === undefined || point.high === undefined
      ? null
      : html`<path class="whisker" d="M${at(x - 4)} ${at(y(point.low))}h8M${at(x - 4)} ${at(y(point.high))}h8M${at(x)} ${at(y(point.low))}V${at(y(point.high))}"/>`;
  return html`<g>${whisker}<circle class="${dot.hollow ? "dot hollow" : "dot"}" cx="${at(x)}" cy="${at(y(point.y))}" r="${dot.small ? 1.6 : 3.6}"/><title>${point.label}</title></g>`;
}

export interface GroupedBars {
  readonly description: string;
  readonly categories: readonly string[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly {
    readonly name: string;
    readonly tone: number;
    readonly values: readonly number[];
  }[];
  /** First and last category of a shaded region, with its caption. */
  readonly region?: { readonly from: number; readonly to: number; readonly text: string };
}

export function groupedBars(plot: GroupedBars): Markup {
  const area = frame(false);
  const highest = Math.max(1, ...plot.series.flatMap((series) => series.values));
  const integers = ticks(0, highest, 4).filter(Number.isInteger);
  const yTicks: Axis = {
    label: plot.yLabel,
    ticks: integers.map((value) => ({ at: value, text: String(value) })),
  };
  const y = linear(0, Math.max(highest, ...integers), area.bottom, area.top);
  const slot = (area.right - area.left) / plot.categories.length;
  const bar = (slot * 0.76) / plot.series.length;
  const left = (category: number): number => area.left + slot * category;
  const region =
    plot.region &&
    html`<rect class="region" x="${at(left(plot.region.from))}" y="${area.top}" width="${at(slot * (plot.region.to - plot.region.from + 1))}" height="${area.bottom - area.top}"/>
<text class="tick" x="${at(left(plot.region.from))}" y="${area.top - 8}">${plot.region.text}</text>`;
  const bars = plot.series.map(
    ({ name, tone, values }, s) =>
      html`<g class="tone-${tone}">${values.map((value, c) =>
        value === 0
          ? null
          : html`<rect class="bar" x="${at(left(c) + slot * 0.12 + bar * s)}" y="${at(y(value))}" width="${at(bar - 1)}" height="${at(area.bottom - y(value))}"><title>${`${plot.categories[c]}: ${value} ${name}`}</title></rect>`,
      )}</g>`,
  );
  const xTicks: Axis = {
    label: plot.xLabel,
    ticks: plot.categories.map((text, i) => ({ at: i, text })),
  };
  return picture(area.width, area.height, plot.description, [
    html`${region}`,
    yAxis(area, yTicks, y),
    ...bars,
    xAxis(area, xTicks, (category) => left(category) + slot / 2),
  ]);
}

export interface StackedRow {
  readonly label: string;
  /** Written at the end of the bar. */
  readonly text: string;
  readonly parts: readonly { readonly name: string; readonly tone: number; readonly value: number }[];
}

const ROW = 26;
/** Width of a character of the labels, about, and of what is written behind the bars. */
const CHARACTER = 6.3;
const TEXTS = 118;

/** One bar per row, all to one scale; a row's parts stand side by side. */
export function stackedBars(description: string, rows: readonly StackedRow[], wide = false): Markup {
  const { width } = frame(wide);
  const labels = 12 + CHARACTER * Math.max(...rows.map(({ label }) => label.length));
  const totals = rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0));
  const scale = linear(0, Math.max(...totals, Number.MIN_VALUE), 0, width - labels - TEXTS);
  const content = rows.map((row, r) => {
    const y = r * ROW + 4;
    let from = 0;
    const parts = row.parts.map(({ name, tone, value }) => {
      const x = labels + scale(from);
      from += value;
      if (value === 0) return null;
      return html`<g class="tone-${tone}"><rect class="bar" x="${at(x)}" y="${y}" width="${at(Math.max(0.5, scale(value) - 1))}" height="${ROW - 9}"><title>${`${row.label}: ${name}`}</title></rect></g>`;
    });
    return html`<text class="tick" x="${at(labels - 8)}" y="${y + 14}" text-anchor="end">${row.label}</text>${parts}
<text class="value" x="${at(labels + scale(totals[r]!) + 6)}" y="${y + 14}">${row.text}</text>`;
  });
  return picture(width, rows.length * ROW + 4, description, content);
}
