/** What `npm run bench` writes: a table for people, JSON for programs. Pure. */
import { type Column, formatTable } from "../apps/cli/output.ts";
import type { Measure } from "./bench.ts";

export interface BenchReport {
  readonly name: string;
  readonly measures: readonly Measure[];
  /** Why the bench could not run; absent when it ran. */
  readonly error?: string;
}

/** 0 all ran; 1 one could not, or, when `strict`, missed a goal. */
export function exitCodeOf(reports: readonly BenchReport[], strict: boolean): 0 | 1 {
  const failed = reports.some(({ error }) => error !== undefined);
  const missed = reports.some(({ measures }) => measures.some(({ ok }) => !ok));
  return failed || (strict && missed) ? 1 : 0;
}

/** Three significant digits, thousands apart: 8.12, 0.00512, 12,300,000. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

function goalOf({ goal, better, ok }: Measure): string | null {
  if (goal === null) return null;
  return `${better === "lower" ? "≤" : "≥"} ${goal} ${ok ? "✓" : "missed"}`;
}

interface Row extends Measure {
  readonly bench: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "bench", value: ({ bench }) => bench },
  { title: "measure", value: ({ name }) => name },
  { title: "value", align: "right", value: ({ value }) => formatNumber(value) },
  { title: "reference", align: "right", value: ({ reference }) => formatNumber(reference) },
  { title: "unit", value: ({ unit }) => unit },
  { title: "ratio", align: "right", value: ({ ratio }) => ratio.toFixed(3) },
  { title: "goal of the ratio", value: goalOf },
];

export function renderReports(reports: readonly BenchReport[]): string {
  const rows = reports.flatMap(({ name, measures }) =>
    measures.map((measure): Row => ({ bench: name, ...measure })),
  );
  const errors = reports.flatMap(({ name, error }) =>
    error === undefined ? [] : [`${name} did not run: ${error}`],
  );
  return [...(rows.length === 0 ? [] : [formatTable(rows, COLUMNS)]), ...errors].join("\n");
}
