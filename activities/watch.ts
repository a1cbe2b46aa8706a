/** What looks after a running experiment: holds that others set, watchdogs, and whether everything has come to rest. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ExperimentSettings } from "../core/experiment.ts";
import { failureType } from "../core/failures.ts";
import type { Hold } from "../core/steering.ts";
import {
  type Db,
  holdExperiment,
  readHold,
  readProgressMark,
  recentCollapse,
  recentInfrastructureFailures,
  requireDisk,
} from "../services/store/index.ts";
import { heartbeating } from "./context.ts";
import type { RecordServices } from "./services.ts";

/** How soon a hold that an activity set is seen. */
const LOOK_MS = 2000;
/** Watchdogs ask for more rows. */
const EVERY_LOOKS = 5;

/**
 * Returns the hold once there is one, set by whoever. Sets it itself when a watchdog of `settings` trips. Time without progress counts only while this
 * very call looks on: neither a worker that was away nor an unreachable record is the experiment's fault.
 */
export async function watch(
  services: Pick<RecordServices, "db" | "disk">,
  input: { readonly experiment: string; readonly watchdog: ExperimentSettings["watchdog"] },
): Promise<Hold> {
  const { db } = services;
  const { experiment, watchdog } = input;
  return heartbeating(async ({ signal }) => {
    let mark = "";
    let since = performance.now();
    for (let look = 0; ; look++) {
      const standing = (await readHold(db, experiment))?.hold;
      if (standing != null) return standing;
      if (look % EVERY_LOOKS === 0) {
        const now = await readProgressMark(db, experiment);
        if (now !== mark) since = performance.now();
        mark = now;
        const minutes = (performance.now() - since) / 60_000;
        const hold = (await lowDisk(services)) ?? (await tripped(db, experiment, watchdog, minutes));
        if (hold !== null) return (await holdExperiment(db, experiment, hold)) ?? hold;
      }
      await sleep(LOOK_MS, undefined, { signal });
    }
  });
}

async function lowDisk({ disk }: Pick<RecordServices, "disk">): Promise<Hold | null> {
  if (disk === null) return null;
  return requireDisk(disk).then(
    () => null,
    (error: Error) => ({ kind: failureType(error), reason: error.message }),
  );
}

async function tripped(
  db: Db,
  experiment: string,
  { infrastructureFailures, collapsedUpdates, stallMinutes }: ExperimentSettings["watchdog"],
  minutesWithoutProgress: number,
): Promise<Hold | null> {
  if (infrastructureFailures !== null) {
    const last = await recentInfrastructureFailures(db, experiment, infrastructureFailures);
    if (last !== null)
      return {
        kind: "infrastructure",
        reason: `${infrastructureFailures} infrastructure failures in a row, the last: ${last}`,
      };
  }
  if (collapsedUpdates !== null && (await recentCollapse(db, experiment, collapsedUpdates)))
    return {
      kind: "collapse",
      reason: `${collapsedUpdates} updates in a row had no group with both passes and failures: the policy has nothing to learn from`,
    };
  if (stallMinutes !== null && minutesWithoutProgress >= stallMinutes)
    return { kind: "stall", reason: `nothing was recorded for ${stallMinutes} minutes` };
  return null;
}

/** Resolves once no activity of the experiment's workflows is being worked on, as Temporal itself tells. */
export async function awaitDrained(
  { startedActivities }: { readonly startedActivities: (experiment: string) => Promise<number> },
  experiment: string,
): Promise<void> {
  await heartbeating(async ({ signal }) => {
    while ((await startedActivities(experiment)) > 0) await sleep(LOOK_MS, undefined, { signal });
  });
}
