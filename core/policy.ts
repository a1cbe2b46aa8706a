/** A policy is one set of weights with its optimizer state and step, under one id. */
import type { ArtifactRef } from "./artifact.ts";

export const POLICY_KINDS = ["nano", "openai", "stand-in"] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

export interface PolicyRef {
  /** As `policyId` makes it. */
  readonly id: string;
  readonly checkpoint: ArtifactRef;
  readonly parent: string | null;
  /** Optimizer steps since the start of its iteration. */
  readonly step: number;
}

/** First 16 hex digits of the checkpoint's sha256, behind the policy kind: `nano-0123456789abcdef`. */
export function policyId(kind: PolicyKind, sha256: string): string {
  return `${kind}-${sha256.slice(0, 16)}`;
}
