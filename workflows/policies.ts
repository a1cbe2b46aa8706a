/** The activities that make and serve an experiment's policies, on the queue of the machines that can. */
import type { GpuActivities } from "../activities/types.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import { isEngineKind, type PolicyRef } from "../core/policy.ts";
import { records, trainersOn } from "./config.ts";
import { trainerQueue } from "./queues.ts";

export function trainerOf({ policy, trainer }: ExperimentSettings): GpuActivities {
  const activities = trainersOn(trainerQueue(trainer));
  if (!isEngineKind(policy.kind)) return activities;
  return {
    startPolicy: (input) => activities.startPolicy(input),
    publish: (input) => activities.publish(input),
    update: (input) => activities.update({ ...input, trainer }),
  };
}

/** Returns once the policy is served. Engines are beside their trainer, since they read the files that it writes. */
export async function serve(policy: PolicyRef, settings: ExperimentSettings): Promise<void> {
  const from = isEngineKind(settings.policy.kind) ? trainerOf(settings) : records;
  await from.publish({ policy, policyServer: settings.policy });
}

/** Engines serve one version at a time: whoever begins to sample by a policy asks for it first. The stack's own server keeps all of them. */
export async function serveAnew(policy: PolicyRef, settings: ExperimentSettings): Promise<void> {
  if (isEngineKind(settings.policy.kind)) await serve(policy, settings);
}
