/**
 * Settings of an experiment: plain types, so that workflow code can use them without zod. `schemas/experiment.ts` parses
 * them and gives the paper's numbers as defaults.
 */
import type { AdvantageSettings } from "./advantage.ts";
import type { FrontierSettings } from "./frontier.ts";
import type { LearnabilityBand } from "./learnability.ts";
import type { LossSettings } from "./loss.ts";
import type { PolicyKind, TrainerKind } from "./policy.ts";
import type { ProbePlan } from "./probing.ts";
import type { RewardSettings } from "./reward.ts";
import type { BudgetSettings, Price } from "./spend.ts";
import type { AuthorSettings, DiversityCaps, GateSettings, HistorySettings } from "./synthesis.ts";
import type { GeneratorName, StatementLevel, TaskType } from "./task.ts";
import type { Sampling } from "./trajectory.ts";

export interface RolloutLimits {
  readonly maxContextTokens: number;
  readonly maxTurns: number;
  readonly maxTokensPerTurn: number;
  /** Sum of turn and tool seconds; null = none. Never part of a deterministic run's outcome when generous. */
  readonly maxSeconds: number | null;
}

/** Name of the task set that checkpoints are selected by; no set of `evaluation.sets` may have it. */
export const VALIDATION_SET = "validation";

/** Sampling that always takes the likeliest token. */
export const GREEDY: Sampling = { temperature: 0, topP: 1, topK: 0, minP: 0 };

export interface TaskSetSettings {
  /** Environment names the set's tasks come from. */
  readonly environments: readonly string[];
  /** `held-out` functions are never trained on; `train` functions are those of the pools. */
  readonly functions: "held-out" | "train" | "all";
  readonly tasks: number;
  readonly samplesPerTask: number;
}

/** Settings that differ from an iteration on (the paper's fifth has another band and larger limits). */
export interface IterationOverride {
  /** 1-based; holds for this iteration and all later ones, until a later override changes the same field. */
  readonly fromIteration: number;
  readonly filter?: { readonly band?: LearnabilityBand };
  readonly limits?: Partial<RolloutLimits>;
  readonly mix?: Readonly<Record<GeneratorName, number>>;
  readonly types?: Readonly<Record<TaskType, number>>;
}

/** What sandboxes are made with: bubblewrap on the host's own system, or containers of a Docker daemon. */
export const SANDBOX_RUNTIMES = ["process", "docker"] as const;
export type SandboxRuntimeName = (typeof SANDBOX_RUNTIMES)[number];

/** What an experiment shows by leaving something out; `calibrated` = nothing is (docs/method.md §7). */
export const ABLATIONS = ["calibrated", "uncalibrated", "frozen-pool", "imported-tasks"] as const;
export type Ablation = (typeof ABLATIONS)[number];

/** The two settings that an ablation is made of. They are never set apart from it: one name for one thing. */
export const ABLATED: Readonly<
  Record<Ablation, { readonly filter: boolean; readonly pool: ExperimentSettings["synthesis"]["pool"] }>
> = {
  calibrated: { filter: true, pool: "fresh" },
  uncalibrated: { filter: false, pool: "fresh" },
  "frozen-pool": { filter: true, pool: "frozen" },
  "imported-tasks": { filter: true, pool: "imported" },
};

/** What calls of tools look like in a model's text. */
export const CALL_FORMATS = ["qwen-xml", "hermes-json", "generic"] as const;
export type CallFormat = (typeof CALL_FORMATS)[number];

export interface EngineSettings {
  /** Base URL of each, without `/v1`. All serve the same model. */
  readonly urls: readonly string[];
  /** Folder in which the engines find checkpoints, each below it by its policy's id; null = `checkpoints` in the GPU worker's data folder. */
  readonly weightsFolder: string | null;
  readonly calls: CallFormat;
  /** Turns in progress on one engine at most; further ones wait for their turn. */
  readonly turnsInFlight: number;
  /** Share of the engines that may be paused at once while weights are published; at least one engine is. */
  readonly pausedShare: number;
  /** What turns in progress do when new weights come: `finish` on the old ones first, or go on in flight with the new ones (`continue`). */
  readonly onPublish: "finish" | "continue";
}

export interface TrainerSettings {
  readonly kind: TrainerKind;
  /** Names the machines that can hold the model: their workers serve the queue of this trainer and size. */
  readonly size: string;
  readonly dtype: "bfloat16" | "float32";
  /** Tokens of one forward pass at most: rows are packed up to it. */
  readonly packTokens: number;
  readonly gradientCheckpointing: boolean;
}

export interface ExperimentSettings {
  readonly seed: number;
  readonly ablation: Ablation;
  readonly iterations: number;
  readonly policy: {
    readonly kind: PolicyKind;
    /** Base URL of an OpenAI-compatible server; null = the stack's own policy server. */
    readonly baseUrl: string | null;
    readonly model: string | null;
    /** Name of the environment variable that holds the API key. */
    readonly apiKeyEnv: string | null;
    /** stand-in: chance that it solves a task worded at level 0, 1, 2, 3; null for any other kind. */
    readonly passRates: readonly number[] | null;
    /** vllm, sglang: how its engines are asked and given weights; null for any other kind. */
    readonly engines: EngineSettings | null;
  };
  /** What makes the next version of the policy. */
  readonly trainer: TrainerSettings;
  readonly environments: { readonly train: readonly string[] };
  readonly synthesis: {
    readonly poolTasks: number;
    readonly maxCandidates: number;
    readonly mix: Readonly<Record<GeneratorName, number>>;
    readonly startLevel: StatementLevel;
    readonly minLevel: StatementLevel;
    readonly maxLevel: StatementLevel;
    readonly stabilityRuns: number;
    /** Share of functions kept from training, chosen by hash: the held-out functions. */
    readonly heldOutShare: number;
    readonly perFunctionCap: number;
    /** `frozen`: later iterations climb on the pool of the first one; `imported`: pools are chosen from imported tasks. */
    readonly pool: "fresh" | "frozen" | "imported";
    /** Relative weights of the types that generators which make several are asked for. */
    readonly types: Readonly<Record<TaskType, number>>;
    readonly caps: DiversityCaps;
    readonly gates: GateSettings;
    readonly history: HistorySettings;
    /** Null = no model writes tasks. */
    readonly author: AuthorSettings | null;
  };
  readonly filter: {
    readonly enabled: boolean;
    readonly probes: number;
    readonly band: LearnabilityBand;
    readonly maxRefinements: number;
    readonly probesAsGroups: boolean;
    /** As `ProbePlan` (core/probing.ts). */
    readonly stopError: number | null;
    readonly prior: ProbePlan["prior"];
    /** Who writes statements anew: templates of another level, or the author's model. */
    readonly refiner: "levels" | "model";
    /** Tasks that always pass are combined with another one. */
    readonly hardenByCombining: boolean;
    /** Failed rollouts, with their diagnosis, that the next iteration's author is shown at most. */
    readonly failuresShown: number;
    /** Tasks that nobody solves are climbed with statements above `synthesis.maxLevel`, apart from the calibrated ones. */
    readonly hintLadder: boolean;
  };
  readonly rollout: { readonly limits: RolloutLimits; readonly sampling: Sampling };
  readonly reward: RewardSettings;
  readonly climb: {
    readonly updates: number;
    readonly tasksPerBatch: number;
    readonly groupSize: number;
    readonly maxLag: number;
    /** Which tasks an update trains on. */
    readonly sampling: { readonly kind: "uniform" | "frontier" } & FrontierSettings;
    /** Size of a group: fixed, or grown until it is mixed, up to `maxSize`. */
    readonly groups: { readonly kind: "fixed" | "dynamic" | "balanced"; readonly maxSize: number };
    /** Rollouts that an iteration may spend, its probes among them; the climb ends with the last update that fits. Null = no bound. */
    readonly rolloutBudget: number | null;
    /** When groups are collected: `exact` = each update trains on one known version; `async` = whenever there is room. */
    readonly pace: {
      readonly kind: "exact" | "async";
      /** async: trajectories in progress at once. Paper: 256. */
      readonly trajectories: number;
      /** async: a group whose oldest token is more than `maxLag` versions old is sampled anew, or left out. */
      readonly stale: "refresh" | "drop";
    };
  };
  readonly advantage: AdvantageSettings;
  readonly loss: LossSettings;
  readonly optimizer: {
    readonly learningRate: number;
    readonly beta1: number;
    readonly beta2: number;
    readonly epsilon: number;
    readonly weightDecay: number;
    readonly clipNorm: number;
  };
  readonly selection: { readonly everyUpdates: number; readonly set: TaskSetSettings };
  readonly evaluation: {
    readonly sets: Readonly<Record<string, TaskSetSettings>>;
    readonly sampling: Sampling;
    readonly greedy: boolean;
    /** Seed of the held-out task sets: fixed, apart from `seed`, so that every run is measured on the same tasks. */
    readonly seed: number;
    readonly grading: "cold" | "warm";
  };
  readonly sandbox: {
    readonly runtime: SandboxRuntimeName;
    readonly memoryMb: number;
    readonly processes: number;
    /** Re-use a command's result for the same environment, tree and command. */
    readonly reuseCommands: boolean;
  };
  readonly grading: { readonly mode: "cold" | "warm"; readonly reuse: boolean };
  readonly budget: BudgetSettings;
  /** By model name as its server is asked for it; `sandbox-hour` is the price of an hour of one sandbox. */
  readonly prices: Readonly<Record<string, Price>>;
  readonly concurrency: { readonly calibrations: number; readonly groups: number };
  readonly limits: { readonly infrastructureRetries: number };
  /** What holds the experiment until someone has looked; null = that is not watched. */
  readonly watchdog: {
    readonly infrastructureFailures: number | null;
    readonly collapsedUpdates: number | null;
    readonly stallMinutes: number | null;
  };
  readonly overrides: readonly IterationOverride[];
}

/** Names an evaluation that was asked for by its choices: by hand or by a schedule, the same choices are the same evaluation. */
export function evaluationMode(sampling: Sampling, samples: number, grading: "cold" | "warm"): string {
  return `temperature-${sampling.temperature}-samples-${samples}-${grading}`;
}

/** How an evaluation's rollouts are graded. Cold means that nothing is re-used either. */
export function evaluationGrading(
  settings: ExperimentSettings,
  mode: "cold" | "warm",
): ExperimentSettings["grading"] {
  return { mode, reuse: mode === "warm" && settings.grading.reuse };
}

/** The settings in force in a 1-based iteration: `overrides` applied in order, and none left; the ablation spelt out. */
export function settingsAt(settings: ExperimentSettings, iteration: number): ExperimentSettings {
  let { filter, rollout, synthesis } = settings;
  for (const override of settings.overrides) {
    if (override.fromIteration > iteration) continue;
    filter = { ...filter, ...override.filter };
    rollout = { ...rollout, limits: { ...rollout.limits, ...override.limits } };
    synthesis = {
      ...synthesis,
      mix: override.mix ?? synthesis.mix,
      types: override.types ?? synthesis.types,
    };
  }
  // Those of before there were ablations name none.
  const ablated = (settings.ablation as Ablation | undefined) && ABLATED[settings.ablation];
  if (ablated !== undefined) {
    filter = { ...filter, enabled: ablated.filter };
    synthesis = { ...synthesis, pool: ablated.pool };
  }
  return { ...settings, filter, rollout, synthesis, overrides: [] };
}
