/** What an asynchronous climb counts with each batch: how old its tokens are, what was left out for its age, how long the trainer waited. */
import type { MetricMeter } from "@temporalio/common";
import type { AssembleInput, AssembleOutput } from "../activities/types.ts";

export function paceMeasures(meter: MetricMeter): (input: AssembleInput, result: AssembleOutput) => void {
  const counter = (name: string, description: string) => meter.createCounter(name, undefined, description);
  const tokens = counter("tadpole_batch_tokens", "Trained tokens of asynchronous climbs, by age in versions");
  const stale = counter("tadpole_stale_groups", "Groups that left for their age, by fate and reason");
  const waited = counter("tadpole_trainer_wait_seconds", "Time between updates of asynchronous climbs");
  return ({ pace }, { lags = [] }) => {
    // The paper's bounds are 1 and 3: a label of its own for every version of a climb would be too many.
    for (const [lag, count] of lags.entries()) tokens.add(count, { lag: lag < 8 ? String(lag) : "8+" });
    for (const fate of ["refreshed", "dropped"] as const)
      for (const [reason, count] of Object.entries(pace?.left[fate] ?? {}))
        stale.add(count, { fate, reason });
    // Counters of the SDK take whole numbers.
    waited.add(Math.round(pace?.waitedSeconds ?? 0));
  };
}
