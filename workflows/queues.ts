import type { TrainerSettings } from "../core/experiment.ts";

/**
 * One task queue per kind of machine: anything, hosts that can isolate commands, GPU nodes. What only looks on has one of its own: it takes a slot for as
 * long as an experiment runs.
 */
export const QUEUES = {
  orchestrate: "tadpole-orchestrate",
  watch: "tadpole-watch",
  sandbox: "tadpole-sandbox",
  gpu: "tadpole-gpu",
} as const;

/**
 * Of the machines with this trainer that can hold a model of this size. The embedded policy's trainer needs no machine of its own kind; settings of
 * before there were others name none.
 */
export function trainerQueue(trainer: Pick<TrainerSettings, "kind" | "size"> | undefined): string {
  const { kind, size } = trainer ?? { kind: "nano", size: "any" };
  return kind === "nano" ? QUEUES.gpu : `${QUEUES.gpu}:${kind}:${size}`;
}
