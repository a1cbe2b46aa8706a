/** A workflow of one update: what a climb asks of a GPU worker, with a death noticed soon. */
import { proxyActivities } from "@temporalio/workflow";
import type { GpuActivities, UpdateInput } from "../../activities/types.ts";
import type { PolicyRef } from "../../core/policy.ts";

export function oneUpdate(taskQueue: string, input: UpdateInput): Promise<PolicyRef> {
  const { update } = proxyActivities<GpuActivities>({
    taskQueue,
    startToCloseTimeout: "5 minutes",
    heartbeatTimeout: "4 seconds",
    retry: { initialInterval: "100 milliseconds", backoffCoefficient: 1 },
  });
  return update(input);
}
