/** The arithmetic of an experiment before it runs: rollouts, tokens, bytes and time, from its settings and from speeds that somebody has measured. */
import { type ExperimentSettings, settingsAt, type TaskSetSettings } from "./experiment.ts";
import { groupPlan } from "./groups.ts";
import { isEngineKind } from "./policy.ts";

export interface PlanSpeeds {
  /** Tokens generated per second by all engines together. */
  readonly tokensPerSecond: number;
  /** Seconds from a batch to the next version being served: the update, its checkpoint, its publication. */
  readonly stepSeconds: number;
  /** Mean tokens of a trajectory, prompts and results of tools among them; an iteration's `maxContextTokens` bounds it. */
  readonly tokensPerTrajectory: number;
  /** Part of them that the policy generates, 0 to 1. */
  readonly generatedShare: number;
  /** Of the model. */
  readonly parameters: number;
}

/** Per token of a row: an id (int32), whether it is trainable (uint8), log q (float64). docs/batch.md */
const BATCH_BYTES = 13;
/** Per token of a trajectory as it is kept, gzipped: ids and log-probabilities that were sampled, and the text of turns and results. */
const TRAJECTORY_BYTES = 8;
/** Per parameter: weights in the trained type; the two moments of Adam in float32. */
const WEIGHT_BYTES = { bfloat16: 2, float32: 4 } as const;
const MOMENT_BYTES = 8;

export interface IterationPlan {
  readonly iteration: number;
  readonly updates: number;
  /** What the climb trains on at least: groups that grow take more. */
  readonly trajectories: number;
  /** Probes where every candidate fits at once, and where all of `synthesis.maxCandidates` are probed and refined to the end. */
  readonly probes: { readonly least: number; readonly most: number };
  readonly validations: number;
  readonly evaluations: number;
  readonly tokens: number;
  readonly generatedTokens: number;
  readonly bytes: {
    readonly trajectories: number;
    readonly batches: number;
    /** Every update's, as a kept experiment keeps them. */
    readonly checkpoints: number;
  };
  readonly seconds: {
    /** Rollouts of all kinds, engines busy throughout. */
    readonly rollouts: number;
    readonly updates: number;
    /** Of the iteration: one after the other, or climb and updates side by side where the pace is async. */
    readonly all: number;
  };
}

export interface ExperimentPlan {
  readonly iterations: readonly IterationPlan[];
  /** Sums; of `probes.most` too. */
  readonly total: Omit<IterationPlan, "iteration">;
  /** Evaluations of the start policy, which are in `total` alone. */
  readonly startEvaluations: number;
  /** Bytes of one version: weights, and the optimizer's state beside them. */
  readonly checkpointBytes: number;
}

const samples = ({ tasks, samplesPerTask }: TaskSetSettings): number => tasks * samplesPerTask;

function evaluated({ evaluation }: ExperimentSettings): number {
  const sets = Object.values(evaluation.sets);
  const greedy = evaluation.greedy ? sets.reduce((sum, { tasks }) => sum + tasks, 0) : 0;
  return sets.reduce((sum, set) => sum + samples(set), greedy);
}

function probed({ filter, synthesis }: ExperimentSettings): IterationPlan["probes"] {
  if (!filter.enabled) return { least: 0, most: 0 };
  return {
    least: synthesis.poolTasks * filter.probes,
    most: synthesis.maxCandidates * filter.probes * (1 + filter.maxRefinements),
  };
}

function planIteration(
  settings: ExperimentSettings,
  iteration: number,
  speeds: PlanSpeeds,
  checkpointBytes: number,
): IterationPlan {
  const { climb, selection, rollout } = settings;
  const pooled = iteration === 1 || settings.synthesis.pool === "fresh";
  const trajectories = climb.updates * climb.tasksPerBatch * groupPlan(settings).size;
  const probes = pooled ? probed(settings) : { least: 0, most: 0 };
  const validations = Math.ceil(climb.updates / selection.everyUpdates) * samples(selection.set);
  const evaluations = evaluated(settings);
  const length = Math.min(speeds.tokensPerTrajectory, rollout.limits.maxContextTokens);
  const rollouts = trajectories + probes.least + validations + evaluations;
  const generated = length * speeds.generatedShare;
  const updates = climb.updates * speeds.stepSeconds;
  const seconds = (count: number) => (count * generated) / speeds.tokensPerSecond;
  const climbing =
    climb.pace?.kind === "async" ? Math.max(seconds(trajectories), updates) : seconds(trajectories) + updates;
  return {
    iteration,
    updates: climb.updates,
    trajectories,
    probes,
    validations,
    evaluations,
    tokens: rollouts * length,
    generatedTokens: rollouts * generated,
    bytes: {
      trajectories: rollouts * length * TRAJECTORY_BYTES,
      batches: trajectories * length * BATCH_BYTES,
      checkpoints: climb.updates * checkpointBytes,
    },
    seconds: {
      rollouts: seconds(rollouts),
      updates,
      all: seconds(rollouts - trajectories) + climbing,
    },
  };
}

/** Throws RangeError naming the speed that is none. */
export function planExperiment(settings: ExperimentSettings, speeds: PlanSpeeds): ExperimentPlan {
  for (const [name, value] of Object.entries(speeds))
    if (!(Number.isFinite(value) && value > 0))
      throw new RangeError(`${name} is ${value}: expected a number above 0`);
  if (speeds.generatedShare > 1)
    throw new RangeError(`generatedShare is ${speeds.generatedShare}: expected at most 1`);
  const checkpointBytes = isEngineKind(settings.policy.kind)
    ? speeds.parameters * (WEIGHT_BYTES[settings.trainer.dtype] + MOMENT_BYTES)
    : 0;
  const iterations = Array.from({ length: settings.iterations }, (_, index) =>
    planIteration(settingsAt(settings, index + 1), index + 1, speeds, checkpointBytes),
  );
  const sum = (pick: (iteration: IterationPlan) => number) =>
    iterations.reduce((total, iteration) => total + pick(iteration), 0);
  const startEvaluations = evaluated(settings);
  const first = settings.rollout.limits.maxContextTokens;
  const startTokens = startEvaluations * Math.min(speeds.tokensPerTrajectory, first);
  const startSeconds = (startTokens * speeds.generatedShare) / speeds.tokensPerSecond;
  return {
    iterations,
    total: {
      updates: sum(({ updates }) => updates),
      trajectories: sum(({ trajectories }) => trajectories),
      probes: { least: sum(({ probes }) => probes.least), most: sum(({ probes }) => probes.most) },
      validations: sum(({ validations }) => validations),
      evaluations: sum(({ evaluations }) => evaluations) + startEvaluations,
      tokens: sum(({ tokens }) => tokens) + startTokens,
      generatedTokens: sum(({ generatedTokens }) => generatedTokens) + startTokens * speeds.generatedShare,
      bytes: {
        trajectories: sum(({ bytes }) => bytes.trajectories) + startTokens * TRAJECTORY_BYTES,
        batches: sum(({ bytes }) => bytes.batches),
        checkpoints: sum(({ bytes }) => bytes.checkpoints),
      },
      seconds: {
        rollouts: sum(({ seconds }) => seconds.rollouts) + startSeconds,
        updates: sum(({ seconds }) => seconds.updates),
        all: sum(({ seconds }) => seconds.all) + startSeconds,
      },
    },
    startEvaluations,
    checkpointBytes,
  };
}
