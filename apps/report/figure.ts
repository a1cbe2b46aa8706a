/** What stands around a plot: title, legend, and the same numbers as a table for those who cannot or would rather not see it. */
import { html, type Markup } from "./html.ts";

export interface LegendEntry {
  readonly text: string;
  readonly tone: number;
  readonly dashed?: boolean;
}

export type Cell = string | number | Markup | null;

export interface DataTable {
  readonly head: readonly Cell[];
  /** The first cell of a row names it. */
  readonly rows: readonly (readonly Cell[])[];
}

/** Colours 1 … TONES tell series apart; 0 is grey, for what is only compared with. */
export const TONES = 5;

export function toneOf(index: number): number {
  return 1 + (index % TONES);
}

export function table({ head, rows }: DataTable): Markup {
  return html`<div class="scroll"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([name, ...cells]) =>
      html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell ?? "–"}</td>`)}</tr>\n`,
  )}</tbody></table></div>`;
}

export interface Figure {
  readonly title: string;
  readonly note?: string;
  readonly plot: Markup;
  readonly legend?: readonly LegendEntry[];
  readonly data?: DataTable;
}

export function figure({ title, note, plot, legend = [], data }: Figure): Markup {
  return html`<figure><figcaption><h3>${title}</h3>${note && html`<p>${note}</p>`}</figcaption>
${
  legend.length > 0 &&
  html`<ul class="legend">${legend.map(
    ({ text, tone, dashed }) =>
      html`<li><span class="swatch tone-${tone}${dashed ? " dashed" : ""}"></span>${text}</li>`,
  )}</ul>`
}
${plot}
${data && html`<details class="data"><summary>Numbers</summary>${table(data)}</details>`}</figure>\n`;
}
