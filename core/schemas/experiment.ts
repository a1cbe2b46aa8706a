/**
 * Schema of an experiment file: the paper's numbers as defaults, and what the paper does not disclose named as such.
 * The plain type is `core/experiment.ts`'s; a compile-time check below keeps the two equal.
 */
import { z } from "zod";
import { checkSettings } from "../consistency.ts";
import { type ExperimentSettings, SANDBOX_RUNTIMES } from "../experiment.ts";
import { count, positive, share, UNDISCLOSED } from "./fields.ts";
import { valueAt } from "./issues.ts";
import { advantage, climb, loss, optimizer, reward } from "./training.ts";

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

const band = z.strictObject({
  low: share().describe("Least pass rate that is admitted."),
  high: share().describe("Greatest pass rate that is admitted."),
});

const weight = () => z.number().min(0);
const mix = z.strictObject({
  mutation: weight().describe("One operator applied at one place of the code."),
  combination: weight().describe("Two mutations under one statement."),
  removal: weight().describe("A function's body removed: a small feature task."),
});

const level = () => z.literal([0, 1, 2, 3]);

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

const policy = z.strictObject({
  kind: z
    .enum(["nano", "openai"])
    .describe(
      "nano: the embedded log-linear repair policy; openai: a model behind an OpenAI-compatible server.",
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
    .describe("Model name sent to the server. Paper: Qwen3.5-4B."),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe("Name of the environment variable that holds the API key; null = none. Never the key itself."),
});

const synthesis = z
  .strictObject({
    poolTasks: count(1).default(300).describe("Admitted tasks per iteration. Paper: about 300."),
    maxCandidates: count(1)
      .default(3_000)
      .describe(
        `Candidates generated at most to fill a pool; the pool ends short when they are spent. ${UNDISCLOSED}`,
      ),
    mix: mix
      .default({ mutation: 0.6, combination: 0.25, removal: 0.15 })
      .describe("Relative weights of the generators. Paper: 85 % bug fixes in iteration 1."),
    startLevel: level().default(1).describe(`Specificity of a task's first statement, 0..3. ${UNDISCLOSED}`),
    minLevel: level().default(0).describe(`Least specific statement refinement may write. ${UNDISCLOSED}`),
    maxLevel: level().default(3).describe(`Most specific statement refinement may write. ${UNDISCLOSED}`),
    stabilityRuns: count(1)
      .default(3)
      .describe(`Repeats of each validation run, against flaky tests. ${UNDISCLOSED}`),
    heldOutShare: share()
      .default(0.3)
      .describe("Share of an environment's functions, chosen by hash, that no pool is made from."),
    perFunctionCap: count(1)
      .default(3)
      .describe(`Tasks in one pool that change the same function. ${UNDISCLOSED}`),
    pool: z
      .enum(["fresh", "frozen"])
      .default("fresh")
      .describe(
        "fresh: every iteration makes a pool of its own; frozen: later iterations climb on the first one's as it was admitted, a baseline. Paper: fresh.",
      ),
  })
  .prefault({});

const filter = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("false = synthesis without calibration: every valid task is admitted."),
    probes: count(2).max(256).default(8).describe(`N: complete rollouts per probe. ${UNDISCLOSED}`),
    band: band
      .default({ low: 0.5, high: 0.5 })
      .describe(
        "Pass rates that are admitted, compared on counts; all-pass and all-fail never are. Paper: 0.5.",
      ),
    maxRefinements: count(0).default(3).describe(`Statements rewritten at most per task. ${UNDISCLOSED}`),
    probesAsGroups: z
      .boolean()
      .default(false)
      .describe(`Use the probes of an admitted task as its first training group. ${UNDISCLOSED}`),
    stopError: z
      .number()
      .min(0)
      .lt(1)
      .nullable()
      .default(null)
      .describe(
        `A probe stops once the chance that all N would admit its task is at most this, and as admitted once they must: 0 = the decisions of complete probes from fewer rollouts; null = always N. ${UNDISCLOSED}`,
      ),
    prior: z
      .strictObject({
        passes: positive().default(1).describe("Passes the prior is worth."),
        failures: positive().default(1).describe("Failures the prior is worth."),
      })
      .prefault({})
      .describe("Beta prior of pass rates that filter.stopError reckons with; 1 and 1 = uniform."),
  })
  .prefault({});

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
    iterations: count(1).default(5).describe("Outer iterations: synthesise, climb, select. Paper: 5."),
    policy: policy.describe("What is trained."),
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
