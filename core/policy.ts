/** A policy is one set of weights with its optimizer state and step, under one id. */
import type { ArtifactRef } from "./artifact.ts";

export const POLICY_KINDS = ["nano", "openai", "stand-in", "vllm", "sglang"] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

/** Kinds whose weights are a model folder that engines of this kind load, one version at a time each. */
export const ENGINE_KINDS = ["vllm", "sglang"] as const satisfies readonly PolicyKind[];
export type EngineKind = (typeof ENGINE_KINDS)[number];

export function isEngineKind(kind: PolicyKind): kind is EngineKind {
  return (ENGINE_KINDS as readonly PolicyKind[]).includes(kind);
}

/** What makes a policy's next version. */
export const TRAINER_KINDS = ["nano", "torch", "slime"] as const;
export type TrainerKind = (typeof TRAINER_KINDS)[number];

export interface PolicyRef {
  /** As `policyId` makes it. */
  readonly id: string;
  /** Of an engine kind: the manifest (`CheckpointManifest`) of its files. */
  readonly checkpoint: ArtifactRef;
  readonly parent: string | null;
  /** Optimizer steps since the start of its iteration. */
  readonly step: number;
}

/** First 16 hex digits of the checkpoint's sha256, behind the policy kind: `nano-0123456789abcdef`. */
export function policyId(kind: PolicyKind, sha256: string): string {
  return `${kind}-${sha256.slice(0, 16)}`;
}

/** The kind that an id begins with; it may hold a hyphen itself. */
export function policyKind(id: string): PolicyKind {
  return id.slice(0, id.lastIndexOf("-")) as PolicyKind;
}
