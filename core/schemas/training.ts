/** Schema of what a climb makes of its rollouts: rewards, batches, advantages, loss, optimizer. */
import { z } from "zod";
import { TRAINER_KINDS } from "../policy.ts";
import { count, positive, share, UNDISCLOSED } from "./fields.ts";

export const reward = z
  .strictObject({
    truncationFactor: share()
      .default(0.5)
      .describe("Factor on a success that a limit cut short. Paper: 0.5."),
    length: z
      .strictObject({
        fromIteration: count(1)
          .nullable()
          .default(3)
          .describe(
            "First iteration with the length factor 1 − alpha·ln(n / freeTokens); null = never. Paper: 3.",
          ),
        freeTokens: count(1).default(16_384).describe(`Generated tokens that cost nothing. ${UNDISCLOSED}`),
        alpha: z.number().min(0).default(0.1).describe(`Slope of the length factor. ${UNDISCLOSED}`),
        floor: share().default(0).describe(`Least length factor. ${UNDISCLOSED}`),
      })
      .prefault({})
      .describe("Factor on long successes."),
  })
  .prefault({});

export const climb = z
  .strictObject({
    updates: count(0)
      .default(200)
      .describe("Optimizer steps per iteration; 0 = pools are made and nothing is trained. Paper: 200."),
    tasksPerBatch: count(1).default(32).describe("Groups per batch. Paper: 32."),
    groupSize: count(2).default(8).describe("Rollouts per group. Paper: 8."),
    maxLag: count(0)
      .default(1)
      .describe(
        "Versions between a rollout's oldest token and its update; 0 = repeatable runs. Paper: 1 or 3.",
      ),
    sampling: z
      .strictObject({
        kind: z
          .enum(["uniform", "frontier"])
          .default("uniform")
          .describe(
            `uniform: every task before any is used again; frontier: in proportion to p(1 − p) of its running pass rate. ${UNDISCLOSED}`,
          ),
        floor: share()
          .default(0.1)
          .describe("frontier: least weight of a task, where one that passes half the time weighs 1."),
        patience: count(1)
          .default(3)
          .describe(
            "frontier: passes over the pool, at even use, after which a task that was left out comes first.",
          ),
      })
      .prefault({})
      .describe("Which of the pool's tasks an update trains on."),
    groups: z
      .strictObject({
        kind: z
          .enum(["fixed", "dynamic", "balanced"])
          .default("fixed")
          .describe(
            `fixed: climb.groupSize rollouts; dynamic: more, groupSize at a time, until they are mixed; balanced: more, until passes and failures are even enough to be cut to groupSize. ${UNDISCLOSED}`,
          ),
        maxSize: count(2).default(32).describe("dynamic, balanced: rollouts of one group at most."),
      })
      .prefault({})
      .describe("How many rollouts a group holds."),
    rolloutBudget: count(1)
      .nullable()
      .default(null)
      .describe(
        "Rollouts an iteration may spend, probes among them, so that arms with and without a filter cost the same: the climb ends with the last update that fits; null = no bound.",
      ),
    pace: z
      .strictObject({
        kind: z
          .enum(["exact", "async"])
          .default("exact")
          .describe(
            "exact: each update trains on tokens of one known version, so that runs are repeatable; async: groups are collected whenever there is room, and none older than maxLag is trained on.",
          ),
        trajectories: count(1)
          .default(256)
          .describe("async: trajectories in progress at once. Paper: at most 256."),
        stale: z
          .enum(["refresh", "drop"])
          .default("refresh")
          .describe("async: a group that is too old is sampled anew, or left out and counted."),
      })
      .prefault({})
      .describe("When groups are collected."),
  })
  .prefault({});

export const advantage = z
  .strictObject({
    estimator: z
      .enum(["group-std-population", "group-std-sample", "no-std", "leave-one-out"])
      .default("group-std-population")
      .describe(`Paper: (R − mean) / (std + 1e-6); population or sample std is ${UNDISCLOSED.toLowerCase()}`),
  })
  .prefault({});

export const loss = z
  .strictObject({
    kind: z
      .enum(["dppo-tv", "two-sided", "ratio-clip"])
      .default("dppo-tv")
      .describe(
        "dppo-tv: the paper's total-variation mask; two-sided: ratio mask; ratio-clip: GRPO with clip-higher.",
      ),
    threshold: positive().max(1).default(0.2).describe("dppo-tv: bound on p − q. Paper: 0.2."),
    clipLow: positive().max(1).default(0.2).describe("ratio-clip: the ratio is clipped below 1 − clipLow."),
    clipHigh: positive().default(0.28).describe("ratio-clip: the ratio is clipped above 1 + clipHigh."),
    ratioLow: z.number().min(0).lt(1).default(0.8).describe("two-sided: least ratio p/q that is kept."),
    ratioHigh: z.number().gt(1).default(1.3).describe("two-sided: greatest ratio p/q that is kept."),
  })
  .prefault({});

export const optimizer = z
  .strictObject({
    learningRate: positive().default(1e-6).describe("Adam, constant. Paper: 1e-6."),
    beta1: z.number().min(0).lt(1).default(0.9).describe("Decay of the first moment. Paper: 0.9."),
    beta2: z.number().min(0).lt(1).default(0.98).describe("Decay of the second moment. Paper: 0.98."),
    epsilon: positive().default(1e-8).describe(`Added to the root of the second moment. ${UNDISCLOSED}`),
    weightDecay: z.number().min(0).default(0.1).describe("Decoupled weight decay. Paper: 0.1."),
    clipNorm: positive().default(1).describe("Bound on the gradient's global norm. Paper: 1."),
  })
  .prefault({});

export const trainer = z
  .strictObject({
    kind: z
      .enum(TRAINER_KINDS)
      .default("nano")
      .describe("nano: of the embedded policy; torch: plain PyTorch; slime: Megatron and Ray by slime."),
    size: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]*$/)
      .default("any")
      .describe(
        "torch, slime: names the machines that can hold the model; their GPU workers are started with it.",
      ),
    dtype: z
      .enum(["bfloat16", "float32"])
      .default("bfloat16")
      .describe("Of the forward and backward pass. Paper: bfloat16."),
    packTokens: count(1)
      .default(65_536)
      .describe(
        "Tokens of one forward pass at most; rows are packed up to it, a longer row has one of its own.",
      ),
    gradientCheckpointing: z
      .boolean()
      .default(true)
      .describe("Activations are computed again in the backward pass instead of kept."),
  })
  .prefault({});
