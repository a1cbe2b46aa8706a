/**
 * The command line of a slime job (https://github.com/THUDM/slime, read at 624b824; experimental, never run on a GPU by this project). Pure: what a
 * job is asked for decides every argument. Paths of slime's files below are of that commit.
 */
import type { ExperimentSettings } from "../../../core/experiment.ts";
import { TrainerError } from "../errors.ts";

export interface SlimeJob {
  /** Hugging Face folder of the model: configuration, tokenizer, and the weights that a first job starts from. */
  readonly model: string;
  /** Of the job's own Megatron checkpoints, one per iteration of ours: a fresh folder is a fresh optimizer. */
  readonly checkpoints: string;
  /** Rows of every batch of this job, padded ones among them. */
  readonly rows: number;
  readonly loss: ExperimentSettings["loss"];
  readonly optimizer: ExperimentSettings["optimizer"];
  readonly packTokens: number;
  readonly gpus: number;
  /** Model arguments and parallelism of Megatron (slime's scripts/models), as they stand. */
  readonly megatron: readonly string[];
}

export type SlimeMode =
  /** One job makes many updates: it asks our shim for each batch, and engines get weights from it. */
  | { readonly kind: "resident"; readonly updates: number; readonly engines: readonly string[] }
  /** One job makes update `update` from `{update}.pt`; engines are given the saved folder by us. */
  | { readonly kind: "one-shot"; readonly update: number; readonly batches: string; readonly out: string };

/** Import path of the shim's rollout function. */
export const ROLLOUT_FUNCTION = "tadpole_slime.rollout.generate";

/**
 * What `train.py` is given. `trained` = the number in latest_checkpointed_iteration.txt, null before the first update. Throws TrainerError `batch` for
 * a batch without rows, and `model` for what slime's own losses cannot be.
 */
export function slimeArguments(job: SlimeJob, mode: SlimeMode, trained: number | null): readonly string[] {
  if (job.rows < 1)
    throw new TrainerError("batch", "a slime job needs a batch with rows: it fails without any");
  return [
    ...checkpointArguments(job, trained),
    ...batchArguments(job),
    ...lossArguments(job),
    ...optimizerArguments(job),
    ...modeArguments(mode, trained),
    ...["--actor-num-nodes", "1", "--actor-num-gpus-per-node", String(job.gpus)],
    ...["--use-dynamic-batch-size", "--max-tokens-per-gpu", String(job.packTokens)],
    ...job.megatron,
  ];
}

/** The update that a job makes next: slime goes on after the last one it saved (slime/backends/megatron_utils/actor.py). */
export function nextUpdate(trained: number | null): number {
  return trained === null ? 0 : trained + 1;
}

function checkpointArguments({ model, checkpoints }: SlimeJob, trained: number | null): string[] {
  return [
    ...["--hf-checkpoint", model, "--ref-load", model],
    // Without a checkpoint of its own it starts from the model's weights, with a fresh optimizer (slime/utils/arguments.py).
    ...["--load", trained === null ? model : checkpoints],
    // Saving comes before the engines are synchronised (train.py): what engines serve is on disk.
    ...["--save", checkpoints, "--save-interval", "1"],
  ];
}

/** One row is one rollout to slime, and every batch one step: exactly so many rows, since further ones are dropped silently (slime/utils/dp_schedule.py). */
function batchArguments({ rows }: SlimeJob): string[] {
  const size = String(rows);
  return [
    ...["--rollout-batch-size", size, "--n-samples-per-prompt", "1"],
    ...["--global-batch-size", size, "--num-steps-per-rollout", "1"],
  ];
}

/** Its own normalisation of rewards takes groups by position, wrongly where they are uneven (THUDM/slime#1414): advantages are ours. */
function lossArguments({ loss }: SlimeJob): string[] {
  if (loss.kind !== "ratio-clip")
    throw new TrainerError(
      "model",
      `loss.kind is ${loss.kind}: expected ratio-clip, the one loss that slime has of ours`,
    );
  return [
    ...["--advantage-estimator", "grpo", "--disable-rewards-normalization"],
    ...["--eps-clip", String(loss.clipLow), "--eps-clip-high", String(loss.clipHigh)],
    // q is what was recorded at sampling time; the loss is a mean over tokens (slime/backends/megatron_utils/loss.py).
    ...["--use-rollout-logprobs", "--calculate-per-token-loss"],
  ];
}

function optimizerArguments({ optimizer }: SlimeJob): string[] {
  const { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm } = optimizer;
  return [
    ...["--optimizer", "adam", "--lr", String(learningRate), "--lr-decay-style", "constant"],
    ...["--adam-beta1", String(beta1), "--adam-beta2", String(beta2), "--adam-eps", String(epsilon)],
    ...["--weight-decay", String(weightDecay), "--clip-grad", String(clipNorm)],
    // The scheduler's length follows --num-rollout, which grows: Megatron refuses its checkpoint otherwise.
    "--override-opt-param-scheduler",
  ];
}

function modeArguments(mode: SlimeMode, trained: number | null): string[] {
  const next = nextUpdate(trained);
  if (mode.kind === "resident") {
    if (mode.updates < 1) throw new TrainerError("batch", "a resident slime job needs at least one update");
    return [
      ...["--rollout-function-path", ROLLOUT_FUNCTION, "--disable-rollout-global-dataset"],
      ...["--rollout-external-engine-addrs", ...mode.engines],
      // An absolute end, exclusive: at or below the next one the job trains nothing and ends with exit code 0.
      ...["--num-rollout", String(next + mode.updates)],
    ];
  }
  if (mode.update !== next)
    throw new TrainerError("model", `the slime job would make update ${next}, not ${mode.update}`);
  return [
    ...["--load-debug-rollout-data", `${mode.batches}/{rollout_id}.pt`, "--disable-rollout-global-dataset"],
    ...["--save-hf", mode.out, "--num-rollout", String(mode.update + 1)],
  ];
}
