/** Schema of how tasks are made, filtered and paid for. */
import { z } from "zod";
import { count, positive, share, UNDISCLOSED } from "./fields.ts";

export const band = z.strictObject({
  low: share().describe("Least pass rate that is admitted."),
  high: share().describe("Greatest pass rate that is admitted."),
});

const weight = () => z.number().min(0);
export const mix = z.strictObject({
  mutation: weight().describe("One operator applied at one place of the code."),
  combination: weight().describe("Two mutations under one statement."),
  removal: weight().describe("A function's body removed: a small feature task."),
  history: weight().default(0).describe("A commit of the environment's repository."),
  llm: weight().default(0).describe("A task written by the model of synthesis.author."),
  exercise: weight()
    .default(0)
    .describe("A file of given words: for models of a few million parameters, which can learn nothing else."),
});

export const types = z.strictObject({
  bug: weight().default(0).describe("Something that worked is broken."),
  feature: weight().default(0).describe("Behaviour that was not there."),
  refactor: weight().default(0).describe("The same behaviour in another structure."),
  migration: weight().default(0).describe("Another dependency or interface does the work."),
  performance: weight().default(0).describe("The same behaviour, measurably faster."),
});

const level = () => z.literal([0, 1, 2, 3]);

const author = z.strictObject({
  baseUrl: z.url({ protocol: /^https?$/ }).describe("Base URL of an OpenAI-compatible server."),
  model: z.string().min(1).describe("Model name sent to the server."),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe("Name of the environment variable that holds the API key; null = none. Never the key itself."),
  maxTurns: count(1).default(40).describe("Turns of one conversation."),
  maxTokens: count(1).default(8_192).describe("Tokens generated in one turn."),
  temperature: z.number().min(0).default(1).describe("Softmax temperature."),
  repairs: count(0).default(2).describe("Times a candidate is sent back with what the gates said."),
  timeoutSeconds: positive()
    .default(900)
    .describe("Seconds without an answer after which a request is given up."),
});

export const synthesis = z
  .strictObject({
    poolTasks: count(1).default(300).describe("Admitted tasks per iteration. Paper: about 300."),
    maxCandidates: count(1)
      .default(3_000)
      .describe(
        `Candidates generated at most to fill a pool; the pool ends short when they are spent. ${UNDISCLOSED}`,
      ),
    mix: mix
      .default({ mutation: 0.6, combination: 0.25, removal: 0.15, history: 0, llm: 0, exercise: 0 })
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
      .enum(["fresh", "frozen", "imported"])
      .default("fresh")
      .describe(
        "fresh: every iteration makes a pool of its own; frozen: later iterations climb on the first one's as it was admitted; imported: pools are chosen from imported tasks. The last two are baselines. Paper: fresh.",
      ),
    types: types
      .default({ bug: 0.41, feature: 0.24, refactor: 0.17, migration: 0.12, performance: 0.06 })
      .describe(
        "Relative weights of the types that history and llm are asked for. Paper: 41/24/17/12/6 in iteration 5.",
      ),
    caps: z
      .strictObject({
        perFile: count(1)
          .nullable()
          .default(null)
          .describe(`Candidates that change the same file; null = no cap. ${UNDISCLOSED}`),
        perOperator: count(1)
          .nullable()
          .default(null)
          .describe(`Candidates of the same operator; null = no cap. ${UNDISCLOSED}`),
        perLineage: count(1)
          .nullable()
          .default(2)
          .describe(`Candidates of one origin; null = no cap. ${UNDISCLOSED}`),
        nearDuplicateBits: z
          .int()
          .min(1)
          .max(64)
          .nullable()
          .default(null)
          .describe(
            `Least distance of two candidates' 64-bit sketches; null = only equal ones are left out. ${UNDISCLOSED}`,
          ),
      })
      .prefault({})
      .describe("Diversity of a pool, beside synthesis.perFunctionCap."),
    gates: z
      .strictObject({
        maxFlakeRate: z
          .number()
          .gt(0)
          .lt(1)
          .nullable()
          .default(null)
          .describe(
            "Flake rate that the stability runs must exclude at 95 %: 0.4 takes 6 runs; null = synthesis.stabilityRuns, whatever they exclude.",
          ),
        wrongSolutions: z
          .boolean()
          .default(true)
          .describe("Gold without one hunk, an unrelated change and deleted tests must be graded as failed."),
        determined: z
          .boolean()
          .default(true)
          .describe("The statement must say, or the tree must show, what the tests need."),
        decontaminate: z
          .array(z.string().min(1))
          .default([])
          .describe(
            "Benchmark files, relative to this one: a task that shares 13 words in a row with them is refused.",
          ),
      })
      .prefault({})
      .describe("What a candidate must pass beside its tests."),
    history: z
      .strictObject({
        maxCommits: count(1).default(500).describe(`Commits looked at, newest first. ${UNDISCLOSED}`),
        maxFiles: count(1).default(8).describe(`Source files a commit may change. ${UNDISCLOSED}`),
        maxLines: count(1).default(200).describe(`Source lines a commit may add and remove. ${UNDISCLOSED}`),
      })
      .prefault({})
      .describe("Which commits become tasks."),
    author: author.nullable().default(null).describe("The model that writes tasks; null = none."),
  })
  .prefault({});

export const filter = z
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
    refiner: z
      .enum(["levels", "model"])
      .default("levels")
      .describe("Who writes statements anew: templates of another level, or the model of synthesis.author."),
    hardenByCombining: z
      .boolean()
      .default(false)
      .describe("A task that always passes is combined with another mistake."),
    failuresShown: count(0)
      .default(0)
      .describe(
        `Failed rollouts of earlier iterations that the author is shown, with their diagnosis. ${UNDISCLOSED}`,
      ),
    hintLadder: z
      .boolean()
      .default(false)
      .describe(
        "Tasks that nobody solves are climbed with more specific statements than synthesis.maxLevel, apart from the calibrated ones.",
      ),
  })
  .prefault({});

export const budget = z
  .strictObject({
    usd: positive().nullable().default(null).describe("US dollars, by the price table; null = no bound."),
    authorTokens: count(1)
      .nullable()
      .default(null)
      .describe("Prompt and generated tokens of the author; null = no bound."),
    sandboxHours: positive().nullable().default(null).describe("Hours of sandboxes; null = no bound."),
  })
  .prefault({});

const dollars = () => z.number().min(0).exactOptional();

export const prices = z
  .record(
    z.string().min(1),
    z.strictObject({
      prompt: dollars().describe("Per million prompt tokens that were computed."),
      cached: dollars().describe("Per million prompt tokens from the server's cache; absent = as prompt."),
      generated: dollars().describe("Per million generated tokens."),
      perHour: dollars().describe("Per hour, for what is paid by time: sandbox-hour."),
    }),
  )
  .default({});
