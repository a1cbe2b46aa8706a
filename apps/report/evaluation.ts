/** Held-out results: the headline table, the sentence above it, and the learning curve. */
import {
  type EvaluationSummary,
  type ExperimentSummary,
  evaluationOf,
  type IterationSummary,
} from "../../services/store/index.ts";
import { type Cell, figure, type LegendEntry, table, toneOf } from "./figure.ts";
import { html, type Markup } from "./html.ts";
import { axis, type Line, linePlot, type Point } from "./plot.ts";
import { percent } from "./scale.ts";

type Measured = Pick<EvaluationSummary, "passAt1" | "low" | "high" | "tasks" | "samples">;

/** Sets that were measured as such, in the order of their first record; checkpoint selection is none. */
export function measuredSets(iterations: readonly IterationSummary[]): string[] {
  const measured = iterations.flatMap((iteration) =>
    iteration.evaluations.filter(({ mode }) => mode === "sampled" || mode === "greedy"),
  );
  return [...new Set(measured.map(({ set }) => set))];
}

function withInterval(measured: Measured | null | undefined): Cell {
  if (!measured) return null;
  return html`<strong>${percent(measured.passAt1, 1)}</strong> <span class="interval">${percent(measured.low)} – ${percent(measured.high)}</span>`;
}

function iterationName(iteration: number): string {
  return iteration === 0 ? "0 · untrained" : String(iteration);
}

export function headlineTable(summary: ExperimentSummary): Markup {
  const sets = measuredSets(summary.iterations);
  if (sets.length === 0) return html`<p class="empty">Nothing has been evaluated yet.</p>`;
  const titled = (text: string, found: Measured | null | undefined): Cell =>
    html`${text}${found && html` <span class="size">${found.tasks} tasks × ${found.samples}</span>`}`;
  const first = <T>(pick: (iteration: IterationSummary) => T | null | undefined): T | null =>
    summary.iterations.map(pick).find((found) => found != null) ?? null;
  return table({
    head: [
      "Iteration",
      "Policy",
      titled(
        "All held-out tasks",
        first(({ evaluation }) => evaluation),
      ),
      ...sets.map((set) =>
        titled(
          set,
          first((iteration) => evaluationOf(iteration, set, "sampled")),
        ),
      ),
      titled(
        "All, greedy",
        first(({ greedy }) => greedy),
      ),
    ],
    rows: summary.iterations.map((iteration) => [
      iterationName(iteration.iteration),
      iteration.policy && html`<code>${iteration.policy.id}</code>`,
      withInterval(iteration.evaluation),
      ...sets.map((set) => withInterval(evaluationOf(iteration, set, "sampled"))),
      withInterval(iteration.greedy),
    ]),
  });
}

/** First and last measured pass@1 over all held-out tasks; null before two were measured. */
export function improvement(
  summary: ExperimentSummary,
): { readonly first: Measured; readonly last: Measured } | null {
  const measured = summary.iterations.flatMap(({ evaluation }) => (evaluation ? [evaluation] : []));
  const [first, last] = [measured[0], measured.at(-1)];
  return first && last && measured.length > 1 ? { first, last } : null;
}

/** Keeps the whiskers of several sets beside one another, in iterations. */
const DODGE = 0.06;

export function learningCurve(summary: ExperimentSummary): Markup | null {
  const { iterations } = summary;
  const sets = measuredSets(iterations);
  if (sets.length === 0) return null;
  const lines: Line[] = [];
  const legend: LegendEntry[] = [];
  const highest = iterations.flatMap(({ evaluations }) => evaluations.map(({ high }) => high));
  for (const [index, set] of sets.entries())
    for (const mode of ["sampled", "greedy"]) {
      const points = iterations.flatMap((iteration): Point[] => {
        const found = evaluationOf(iteration, set, mode);
        if (!found) return [];
        const x = iteration.iteration + (index - (sets.length - 1) / 2) * DODGE;
        const label = `${set}, ${mode}, iteration ${iteration.iteration}: ${percent(found.passAt1, 1)} (${percent(found.low, 1)} – ${percent(found.high, 1)})`;
        const interval = mode === "sampled" ? { low: found.low, high: found.high } : {};
        return [{ x, y: found.passAt1, label, ...interval }];
      });
      if (points.length === 0) continue;
      const dashed = mode === "greedy";
      lines.push({ tone: toneOf(index), dashed, runs: [points] });
      legend.push({ text: dashed ? `${set}, greedy` : set, tone: toneOf(index), dashed });
    }
  const last = Math.max(...iterations.map(({ iteration }) => iteration));
  return figure({
    title: "Learning curve",
    note: "Held-out pass@1 per iteration; whiskers are 95 % intervals over tasks. Iteration 0 is the untrained start.",
    legend,
    plot: linePlot({
      description: `Held-out pass@1 from iteration 0 to ${last}, for ${sets.join(" and ")}`,
      x: {
        label: "iteration",
        ticks: iterations.map(({ iteration }) => ({ at: iteration, text: String(iteration) })),
      },
      y: axis("pass@1", 0, Math.min(1, Math.max(0.2, ...highest)), percent),
      domain: [-0.15, last + 0.15],
      wide: true,
      lines,
    }),
    data: {
      head: ["Iteration", ...sets.flatMap((set) => [set, `${set}, greedy`])],
      rows: iterations.map((iteration) => [
        iterationName(iteration.iteration),
        ...sets.flatMap((set) =>
          ["sampled", "greedy"].map((mode) => withInterval(evaluationOf(iteration, set, mode))),
        ),
      ]),
    },
  });
}
