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
