/** Time per phase. */
import type { ExperimentSummary, PhaseTime } from "../../services/store/index.ts";
import { figure, toneOf } from "./figure.ts";
import type { Markup } from "./html.ts";
import { stackedBars } from "./plot.ts";
import { duration, percent } from "./scale.ts";

/** One bar per phase, in the order they began; iteration 0 is what comes before the first. */
export function timeFigure(timings: ExperimentSummary["timings"]): Markup | null {
  const spent = timings.phases.filter(({ seconds }) => seconds > 0);
  if (spent.length === 0) return null;
  const nameOf = ({ iteration, phase }: PhaseTime): string =>
    iteration === 0 ? phase : `iteration ${iteration} · ${phase}`;
  return figure({
    title: "Time per phase",
    note: `${duration(timings.seconds)} by the wall clock.`,
    plot: stackedBars(
      "Seconds per phase",
      spent.map((time) => ({
        label: nameOf(time),
        text: `${duration(time.seconds)} (${percent(time.seconds / timings.seconds)})`,
        parts: [{ name: duration(time.seconds), tone: toneOf(time.iteration), value: time.seconds }],
      })),
      true,
    ),
  });
}
