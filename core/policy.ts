/** A policy is one set of weights with its optimizer state and step, under one id. */
import type { ArtifactRef } from "./artifact.ts";

export interface PolicyRef {
  /** First 16 hex digits of the checkpoint's sha256, behind the policy kind: `nano-0123456789abcdef`. */
  readonly id: string;
  readonly checkpoint: ArtifactRef;
  readonly parent: string | null;
  /** Optimizer steps since the start of its iteration. */
  readonly step: number;
}
