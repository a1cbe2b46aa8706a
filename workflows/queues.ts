/** One task queue per kind of machine: anything, hosts that can isolate commands, GPU nodes. */
export const QUEUES = {
  orchestrate: "tadpole-orchestrate",
  sandbox: "tadpole-sandbox",
  gpu: "tadpole-gpu",
} as const;
