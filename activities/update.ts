/** update and startPolicy: what runs on the `gpu` queue. Applied once: the policy is named by its content. */

import { isEngineKind, type PolicyKind, type PolicyRef, policyId, policyKind } from "../core/policy.ts";
import { readManifest } from "../services/checkpoints/index.ts";
import { isWhole, recordPolicy, recordUpdate } from "../services/store/index.ts";
import type { UpdateMetrics } from "../services/trainers/trainer.ts";
import { heartbeating } from "./context.ts";
import { pieceOf } from "./pieces.ts";
import type { GpuServices } from "./services.ts";
import type { Activities, UpdateInput } from "./types.ts";

interface Updated {
  readonly update: number;
  readonly policy: PolicyRef;
  readonly metrics: UpdateMetrics;
}

export async function update(services: GpuServices, input: UpdateInput): Promise<PolicyRef> {
  return heartbeating(async ({ beat, signal }) => {
    const settings = { loss: input.loss, optimizer: input.optimizer, freshOptimizer: input.freshOptimizer };
    const of = {
      kind: "update",
      phase: "update",
      scope: input.scope,
      reuse: input.reuse,
      // What was reused before there were trainer processes has no such field.
      content: {
        ...{ parent: input.parent.id, batch: input.batch.sha256, ...settings },
        ...(input.trainer && { trainer: input.trainer }),
      },
    } as const;
    const whole = ({ policy }: Updated) => isWhole(services.artifacts, policy.checkpoint);
    const { policy, metrics } = await pieceOf<Updated>(services, of, whole, async () => {
      if (input.trainer) await services.trainer.open?.(input.trainer);
      const made = await services.trainer.update(input.batch, input.parent, settings, (done, total) => {
        signal.throwIfAborted();
        beat({ done, total });
      });
      await recordPolicyFiles(services, policyKind(made.policy.id), made.policy);
      return { update: input.update, ...made };
    });
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
    const { kind, seed, passRates = null, model = null } = input;
    const checkpoint = await services.startCheckpoint({ kind, seed, passRates, model });
    const policy: PolicyRef = {
      id: policyId(kind, checkpoint.sha256),
      checkpoint,
      parent: null,
      step: 0,
    };
    await recordPolicyFiles(services, kind, policy);
    return policy;
  });
}

async function recordPolicyFiles(
  { db, artifacts }: Pick<GpuServices, "db" | "artifacts">,
  kind: PolicyKind,
  policy: PolicyRef,
): Promise<void> {
  const manifest = isEngineKind(kind) ? await readManifest(artifacts, policy) : null;
  const files = manifest && [...manifest.model, ...manifest.optimizer].map(({ artifact }) => artifact.uri);
  await recordPolicy(db, kind, policy, files);
}
