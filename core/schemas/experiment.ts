/**
 * Schema of an experiment file: the paper's numbers as defaults, and what the paper does not disclose named as such.
 * The plain type is `core/experiment.ts`'s; a compile-time check below keeps the two equal.
 */
import { z } from "zod";
import { checkSettings } from "../consistency.ts";
import { ABLATIONS, CALL_FORMATS, type ExperimentSettings, SANDBOX_RUNTIMES } from "../experiment.ts";
import { POLICY_KINDS } from "../policy.ts";
import { count, positive, share, UNDISCLOSED } from "./fields.ts";
import { valueAt } from "./issues.ts";
import { band, budget, filter, mix, prices, synthesis, types } from "./synthesis.ts";
import { advantage, climb, loss, optimizer, reward, trainer } from "./training.ts";

const sampling = (defaults: { temperature: number; topP: number; topK: number; minP: number }) =>
  z
    .strictObject({
      temperature: z
        .number()
        .min(0)
        .default(defaults.temperature)
        .describe("Softmax temperature; 0 = greedy."),
      topP: positive().max(1).default(defaults.topP).describe("Nucleus sampling; 1 = off."),
      topK: count(0).default(defaults.topK).describe("Only the k likeliest tokens; 0 = off."),
      minP: share()
        .default(defaults.minP)
        .describe("Least probability relative to the likeliest token; 0 = off."),
    })
    .prefault({});

const limitFields = {
  maxContextTokens: count(1).describe(
    "Prompt and generated tokens of a rollout. Paper: 65,536; 131,072 in iteration 5.",
  ),
  maxTurns: count(1).describe("Assistant turns of a rollout. Paper: 75; 150 in iteration 5."),
  maxTokensPerTurn: count(1).describe("Tokens generated in one turn. Paper: 8,192."),
  maxSeconds: positive()
    .nullable()
    .describe("Sum of a rollout's turn and tool seconds; null = no such limit, which keeps runs repeatable."),
};

const limits = z
  .strictObject({
    maxContextTokens: limitFields.maxContextTokens.default(65_536),
    maxTurns: limitFields.maxTurns.default(75),
    maxTokensPerTurn: limitFields.maxTokensPerTurn.default(8_192),
    maxSeconds: limitFields.maxSeconds.default(null),
  })
  .prefault({});

const environmentNames = z.array(z.string().min(1)).min(1);

const taskSet = z.strictObject({
  environments: environmentNames.describe(
    "Names of the environments (environments/catalogue.yaml) the tasks come from.",
  ),
  functions: z
    .enum(["held-out", "train", "all"])
    .default("held-out")
    .describe("held-out: functions no pool is made from; train: the pools' functions; all: both."),
  tasks: count(1).describe("Tasks in the set."),
  samplesPerTask: count(1).default(1).describe("Sampled rollouts per task."),
});

const engines = z.strictObject({
  urls: z.array(z.url()).min(1).describe("Base URL of each engine, without /v1. Paper: 6 engines."),
  weightsFolder: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "Folder in which the engines find checkpoints; null = checkpoints in the GPU worker's data folder.",
    ),
  calls: z
    .enum(CALL_FORMATS)
    .default("hermes-json")
    .describe("What calls of tools look like in the model's text."),
  turnsInFlight: count(1).default(64).describe("Turns in progress on one engine at most; others wait."),
  pausedShare: share()
    .default(0.5)
    .describe(
      "Share of the engines that may be paused at once while weights are published; at least one is.",
    ),
  onPublish: z
    .enum(["finish", "continue"])
    .default("finish")
    .describe(
      "finish: turns in progress end on the old weights first; continue: they go on with the new ones, and the version of each token is recorded.",
    ),
});

const policy = z.strictObject({
  kind: z
    .enum(POLICY_KINDS)
    .describe(
      "nano: the embedded log-linear repair policy; openai: a model behind an OpenAI-compatible server, for evaluation; stand-in: no policy at all, it knows every solution and uses it with a known chance, to show how pools are made; vllm, sglang: a model whose weights are trained and published to engines of that kind.",
    ),
  baseUrl: z
    .url()
    .nullable()
    .default(null)
    .describe("Base URL of the server; null = the stack's own policy server."),
  model: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "openai: the model name sent to the server; vllm, sglang: the folder of the start weights, in Hugging Face's layout. Paper: Qwen3.5-4B.",
    ),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe("Name of the environment variable that holds the API key; null = none. Never the key itself."),
  passRates: z
    .array(share())
    .length(4)
    .nullable()
    .default(null)
    .describe("stand-in: chance that it solves a task worded at level 0, 1, 2 and 3."),
  engines: engines.nullable().default(null).describe("vllm, sglang: the engines that serve the policy."),
});

const override = z.strictObject({
  fromIteration: count(1).describe("First iteration (1-based) this holds in; it holds in all later ones."),
  filter: z
    .strictObject({ band: band.exactOptional().describe("As filter.band.") })
    .exactOptional()
    .describe("As filter."),
  limits: z
    .strictObject({
      maxContextTokens: limitFields.maxContextTokens.exactOptional(),
      maxTurns: limitFields.maxTurns.exactOptional(),
      maxTokensPerTurn: limitFields.maxTokensPerTurn.exactOptional(),
      maxSeconds: limitFields.maxSeconds.exactOptional(),
    })
    .exactOptional()
    .describe("As rollout.limits."),
  mix: mix.exactOptional().describe("As synthesis.mix."),
  types: types.exactOptional().describe("As synthesis.types."),
});

export const experimentSchema = z
  .strictObject({
    seed: z
      .int()
      .min(0)
      .max(0xffffffff)
      .default(0)
      .describe(
        "Decides every random choice but the held-out task sets and the embedded policy's start weights.",
      ),
    ablation: z
      .enum(ABLATIONS)
      .default("calibrated")
      .describe(
        "calibrated: all of the method; uncalibrated: no filter; frozen-pool: the first iteration's pool in every one; imported-tasks: pools chosen from imported tasks by the same filter.",
      ),
    iterations: count(1).default(5).describe("Outer iterations: synthesise, climb, select. Paper: 5."),
    policy: policy.describe("What is trained."),
    trainer: trainer.describe("What trains it."),
    environments: z
      .strictObject({ train: environmentNames.describe("Names of the environments pools are made from.") })
      .describe("Real packages, by their names in environments/catalogue.yaml."),
    synthesis: synthesis.describe("How a pool of tasks is made."),
    filter: filter.describe("Which tasks are learnable enough to be admitted."),
    rollout: z
      .strictObject({
        limits: limits.describe("Limits of a training rollout."),
        sampling: sampling({ temperature: 1, topP: 1, topK: 0, minP: 0 }).describe(
          "Paper: 1 / 1 / off / off.",
        ),
      })
      .prefault({})
      .describe("Training rollouts, probes included."),
    reward: reward.describe("raw × truncation factor × length factor."),
    climb: climb.describe("Updates of an iteration."),
    advantage: advantage.describe("Advantages within a group."),
    loss: loss.describe("Loss over all trainable tokens of groups that are mixed in raw reward."),
    optimizer: optimizer.describe("Adam; its state starts fresh in every iteration."),
    selection: z
      .strictObject({
        everyUpdates: count(1)
          .default(20)
          .describe(`Updates between candidates for the iteration's best. ${UNDISCLOSED}`),
        set: taskSet.describe("Validation set. Paper: SWE-bench Verified."),
      })
      .describe("How an iteration's best checkpoint is chosen."),
    evaluation: z
      .strictObject({
        sets: z
          .record(z.string().regex(/^[a-z0-9-]+$/), taskSet)
          .describe("Task sets by name; evaluated at the start and after each iteration."),
        sampling: sampling({ temperature: 0.6, topP: 0.95, topK: 20, minP: 0 }).describe(
          "Paper: 0.6 / 0.95 / 20 / 0.",
        ),
        greedy: z.boolean().default(false).describe("Evaluate greedy decoding besides."),
        seed: z
          .int()
          .min(0)
          .max(0xffffffff)
          .default(1)
          .describe(
            "Seed of the task sets and of the embedded policy's start weights, apart from the experiment's, so that all runs start alike and meet the same tasks.",
          ),
        grading: z
          .enum(["cold", "warm"])
          .default("cold")
          .describe("cold: a new sandbox and process per verdict."),
      })
      .describe("What is measured, never trained on."),
    sandbox: z
      .strictObject({
        runtime: z
          .enum(SANDBOX_RUNTIMES)
          .default("process")
          .describe("process: bubblewrap on the host's system; docker: containers of a Docker daemon."),
        memoryMb: count(64).default(1_024).describe("Memory limit of one sandbox, MiB."),
        processes: count(1).default(64).describe("Processes in one sandbox at most."),
        reuseCommands: z
          .boolean()
          .default(false)
          .describe("Re-use a command's result for the same tree and command."),
      })
      .prefault({})
      .describe("Where tools and tests run."),
    grading: z
      .strictObject({
        mode: z
          .enum(["cold", "warm"])
          .default("cold")
          .describe("warm: a runner per environment, same verdicts."),
        reuse: z.boolean().default(false).describe("Re-use a verdict for the same task and tree."),
      })
      .prefault({})
      .describe("Verdicts on training rollouts."),
    budget: budget.describe("What a run may cost; once it is spent the experiment is held."),
    prices: prices.describe("US dollars, by model."),
    concurrency: z
      .strictObject({
        calibrations: count(1).default(16).describe("Tasks calibrated at the same time."),
        groups: count(1)
          .default(32)
          .describe("Groups collected at the same time. Paper: 256 trajectories at most."),
      })
      .prefault({})
      .describe("Windows of the workflows; they change no result."),
    limits: z
      .strictObject({
        infrastructureRetries: count(0)
          .default(5)
          .describe("Refills of one slot after infrastructure failures before the experiment is held."),
      })
      .prefault({})
      .describe("Budgets against endless repetition."),
    watchdog: z
      .strictObject({
        infrastructureFailures: count(1)
          .nullable()
          .default(20)
          .describe("Attempts in a row that ended by a failure of a sandbox, grader or inference server."),
        collapsedUpdates: count(1)
          .nullable()
          .default(8)
          .describe("Updates in a row whose groups all had equal rewards, so that none was made."),
        stallMinutes: positive().nullable().default(60).describe("Minutes in which nothing was recorded."),
      })
      .prefault({})
      .describe("What holds the experiment, with the reason, until it is resumed; null = not watched."),
    overrides: z.array(override).default([]).describe("Settings that differ from an iteration on, in order."),
  })
  .superRefine((settings, context) => {
    for (const { path, expected } of checkSettings(settings))
      context.addIssue({
        code: "custom",
        path: [...path],
        message: expected,
        // With the defaults, which the file's own data has not.
        params: { found: valueAt(settings, path) },
      });
  });

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;
type Same<A, B> = [A, B] extends [B, A] ? true : never;

/** Fails to compile where the schema and the plain type part. */
true satisfies Same<Frozen<z.output<typeof experimentSchema>>, Frozen<ExperimentSettings>>;
