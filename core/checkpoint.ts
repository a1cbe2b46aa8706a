/** A model's checkpoint: what its folder holds, by content. Its manifest, as canonical JSON, is the artifact a policy is named by. */
import type { ArtifactRef } from "./artifact.ts";

export interface CheckpointFile {
  /** Below the folder, with forward slashes; no `..`. */
  readonly path: string;
  readonly artifact: ArtifactRef;
}

export interface CheckpointManifest {
  readonly format: "tadpole-checkpoint";
  readonly version: 1;
  /** Model folder in Hugging Face's layout (config.json, tokenizer.json, *.safetensors, chat template), sorted by path. */
  readonly model: readonly CheckpointFile[];
  /** What the trainer needs besides to go on; empty at the start of an iteration's first update. Sorted by path. */
  readonly optimizer: readonly CheckpointFile[];
  /** Optimizer steps since the start of the iteration. */
  readonly step: number;
}

/** Of a folder that trainers write and engines load: its last file, so that a folder without it is not whole. */
export const CHECKPOINT_MARKER = "checkpoint.json";
