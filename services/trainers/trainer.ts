/** The contract of a trainer: the same parent, batch and settings give the same policy, applied once. */
import type { ArtifactRef } from "../../core/artifact.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef, TrainerKind } from "../../core/policy.ts";

export interface UpdateSettings {
  readonly loss: ExperimentSettings["loss"];
  readonly optimizer: ExperimentSettings["optimizer"];
  /** True on the first update of an iteration: moments and step start at zero. */
  readonly freshOptimizer: boolean;
}

export interface UpdateMetrics {
  readonly loss: number;
  readonly gradientNorm: number;
  readonly trainableTokens: number;
  readonly droppedTokens: number;
  readonly effectiveSampleSize: number;
  readonly entropy: number;
  readonly meanRatio: number;
}

/** What one process trains with, for as long as it lives. */
export interface TrainerSession {
  readonly size: string;
  readonly dtype: ExperimentSettings["trainer"]["dtype"];
  readonly packTokens: number;
  readonly gradientCheckpointing: boolean;
}

export interface UpdateResult {
  readonly policy: PolicyRef;
  readonly metrics: UpdateMetrics;
}

export interface Trainer {
  readonly name: TrainerKind;
  /** Makes ready for `update`; may be repeated. The embedded trainer has nothing to open. */
  open?(session: TrainerSession): Promise<void>;
  update(
    batch: ArtifactRef,
    parent: PolicyRef,
    settings: UpdateSettings,
    progress: (done: number, total: number) => void,
  ): Promise<UpdateResult>;
  close(): Promise<void>;
}
