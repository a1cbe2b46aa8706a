/** update and startPolicy: what runs on the `gpu` queue. Applied once: the policy is named by its content. */

import { type PolicyRef, policyId } from "../core/policy.ts";
import { recordPolicy, recordUpdate } from "../services/store/index.ts";
import { heartbeating } from "./context.ts";
import type { GpuServices } from "./services.ts";
import type { Activities, UpdateInput } from "./types.ts";

export async function update(services: GpuServices, input: UpdateInput): Promise<PolicyRef> {
  return heartbeating(async ({ beat, signal }) => {
    const { policy, metrics } = await services.trainer.update(
      input.batch,
      input.parent,
      { loss: input.loss, optimizer: input.optimizer, freshOptimizer: input.freshOptimizer },
      (done, total) => {
        signal.throwIfAborted();
        beat({ done, total });
      },
    );
    await recordPolicy(services.db, "nano", policy);
    await recordUpdate(services.db, {
      experiment: input.scope.experiment,
      iteration: input.scope.iteration,
      try: input.scope.try,
      update: input.update,
      batch: input.batch,
      parent_policy: input.parent.id,
      policy: policy.id,
      kept_groups: input.kept,
      dropped_groups: input.dropped,
      metrics,
    });
    return policy;
  });
}

export async function startPolicy(
  services: GpuServices,
  input: Parameters<Activities["startPolicy"]>[0],
): Promise<PolicyRef> {
  return heartbeating(async () => {
    const checkpoint = await services.artifacts.put(await services.startCheckpoint(input.seed), "policy");
    const policy: PolicyRef = {
      id: policyId(input.kind, checkpoint.sha256),
      checkpoint,
      parent: null,
      step: 0,
    };
    await recordPolicy(services.db, input.kind, policy);
    return policy;
  });
}
