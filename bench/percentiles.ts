/** Measures of times that repeat: what is usual, and what one in twenty exceeds. */
import { type Measure, measure } from "./bench.ts";
import { percentile, type Sides } from "./repeat.ts";

/** `times` in seconds. The goal is that of the median; null = none. */
export function timeMeasures(
  name: string,
  times: Sides<readonly number[]>,
  unit: "ms" | "s",
  goal: number | null,
): Measure[] {
  const at = (share: number, side: readonly number[]) => percentile(side, share) * (unit === "ms" ? 1000 : 1);
  return [
    { label: "p50", share: 0.5, goal },
    { label: "p95", share: 0.95, goal: null },
  ].map(({ label, share, goal }) =>
    measure({
      name: `${name}, ${label}`,
      value: at(share, times.subject),
      unit,
      reference: at(share, times.reference),
      better: "lower",
      goal,
    }),
  );
}
