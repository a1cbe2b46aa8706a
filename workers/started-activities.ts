/** What Temporal knows of an experiment's work in progress. */
import type { Client } from "@temporalio/client";
import { WATCHING } from "../activities/types.ts";
import { experimentOf } from "../core/ids.ts";

/** `PENDING_ACTIVITY_STATE_STARTED` and, of one that still has to notice, `…_CANCEL_REQUESTED` (temporal.api.enums.v1). */
const BUSY = new Set<unknown>([2, 3]);

/** Activities of the experiment's workflows that a worker is busy with. */
export async function startedActivities(client: Client, experiment: string): Promise<number> {
  let started = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (experimentOf(workflowId) !== experiment) continue;
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    for (const { state, activityType } of raw.pendingActivities ?? [])
      if (BUSY.has(state) && !WATCHING.some((name) => name === activityType?.name)) started++;
  }
  return started;
}
