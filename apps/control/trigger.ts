/** A run of a schedule now, and what came of it: the server says only that it was asked. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ScheduleDescription } from "@temporalio/client";
import { describeSchedule, type ScheduleContext, type ScheduleView, viewOf } from "./schedules.ts";

/**
 * By the counts of the schedule: a run `started`, one was `skipped` because another still goes on, or `waits` for its end; `unknown` where
 * nothing was counted in time. A time of the schedule's own in the same moment is told from it by nothing.
 */
export type Triggered = "started" | "skipped" | "waits" | "unknown";

const ASKS = 30;
const ASK_EVERY_MS = 100;

/** One run now, by the schedule's own overlap policy, paused or not. Throws ScheduleError `missing`. */
export async function triggerSchedule(
  session: ScheduleContext,
  name: string,
): Promise<ScheduleView & { readonly triggered: Triggered }> {
  const before = await describeSchedule(session, name);
  await session.client.schedule.getHandle(name).trigger(before.policies.overlap);
  for (let ask = 0; ; ask++) {
    const after = await describeSchedule(session, name);
    const triggered = whatCame(before, after);
    if (triggered !== "unknown" || ask === ASKS) return { ...viewOf(after), triggered };
    await sleep(ASK_EVERY_MS);
  }
}

function whatCame(before: ScheduleDescription, after: ScheduleDescription): Triggered {
  if (after.info.numActionsTaken > before.info.numActionsTaken) return "started";
  if (after.info.numActionsSkippedOverlap > before.info.numActionsSkippedOverlap) return "skipped";
  return waiting(after) > waiting(before) ? "waits" : "unknown";
}

const waiting = ({ raw }: ScheduleDescription): number => Number(raw.info?.bufferSize ?? 0);
