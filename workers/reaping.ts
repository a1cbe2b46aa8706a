/** The schedule that has a host's sandboxes looked at: one per host and data folder, made anew by each worker that starts there. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from "@temporalio/client";
import { QUEUES } from "../workflows/queues.ts";
import type { ReapInput, reapSandboxes } from "../workflows/reapSandboxes.ts";

const EVERY = "2 minutes";

/** A slot's next attempt comes within the heartbeat timeout and the retry's delay, where it waits for no hold. */
export const ADOPTION_GRACE_MS = 3 * 60_000;

/** `dataFolder` is an absolute path: its sandboxes are this host's alone. */
export function reapingOf(dataFolder: string, host = hostname()): ReapInput & { readonly schedule: string } {
  const hash = createHash("sha256").update(`${host}\0${dataFolder}`).digest("hex").slice(0, 12);
  return {
    host: `${host}:${dataFolder}`,
    queue: `${QUEUES.sandbox}-${hash}`,
    schedule: `tadpole-reap-${hash}`,
  };
}

/** A schedule that was paused, by a person or because nobody served the host, runs again. */
export async function scheduleReaping(
  client: Pick<Client, "schedule">,
  { schedule: scheduleId, ...input }: ReturnType<typeof reapingOf>,
): Promise<void> {
  const options = {
    spec: { intervals: [{ every: EVERY }] },
    action: {
      type: "startWorkflow",
      workflowType: "reapSandboxes" satisfies (typeof reapSandboxes)["name"],
      workflowId: scheduleId,
      taskQueue: QUEUES.orchestrate,
      args: [input],
      staticSummary: `remove what was left in sandboxes of ${input.host}`,
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: EVERY, pauseOnFailure: true },
    state: { note: `while a sandbox worker of ${input.host} runs` },
  } satisfies Omit<ScheduleOptions, "scheduleId">;
  try {
    await client.schedule.create({ scheduleId, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = client.schedule.getHandle(scheduleId);
    await handle.update(() => ({ ...options, state: { ...options.state, paused: false } }));
  }
}
