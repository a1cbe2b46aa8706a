/** Task synthesis: generators make candidates, gates validate them, the statement writer words them. */
import type { RandomStream } from "../../core/random.ts";
import type { FileChange, GeneratorName, Task, TaskType } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";

/** What a generator proposes; nothing about it has been run. */
export interface Candidate {
  readonly type: TaskType;
  readonly generator: GeneratorName;
  readonly base: readonly FileChange[];
  readonly gold: readonly FileChange[];
  readonly sites: readonly {
    readonly file: string;
    readonly functionName: string;
    readonly line: number;
    readonly operator: string;
  }[];
  readonly functions: readonly string[];
  /** A combination's mutations alone, in the order of `sites`: environment snapshot -> tree with that one only. */
  readonly parts?: readonly (readonly FileChange[])[];
}

export interface Brief {
  /** Which functions may be changed. */
  readonly functions: "held-out" | "train" | "all";
  readonly heldOutShare: number;
}

export interface TaskGenerator {
  readonly name: GeneratorName;
  /** Null = this draw gives no candidate (no site left); the reason is for the record. */
  generate(
    environment: PreparedEnvironment,
    brief: Brief,
    random: RandomStream,
  ): Candidate | { readonly none: string };
}

export type GateName =
  | "build"
  | "fail-to-pass"
  | "gold"
  | "no-op"
  | "stability"
  | "reproduction"
  | "leak"
  | "ends";

export interface GateVerdict {
  readonly gate: GateName;
  readonly passed: boolean;
  readonly evidence: string;
}

export interface ValidationResult {
  /** Null when a gate failed. */
  readonly task: Task | null;
  readonly gates: readonly GateVerdict[];
}

export interface ValidateOptions {
  /** Runs of the base tree that must agree, the first included. */
  readonly stabilityRuns: number;
  readonly signal?: AbortSignal;
}

export interface SynthesisService {
  generate(
    environment: PreparedEnvironment,
    generator: GeneratorName,
    brief: Brief,
    random: RandomStream,
  ): Candidate | { readonly none: string };
  /** Runs the gates cheapest first and stops at the first that fails. */
  validate(
    environment: PreparedEnvironment,
    candidate: Candidate,
    options: ValidateOptions,
  ): Promise<ValidationResult>;
}

export type SynthesisErrorKind = "infrastructure" | "cancelled";

/** `infrastructure`: a run was lost, try again. A candidate that fails a gate is no error. */
export class SynthesisError extends Error {
  readonly kind: SynthesisErrorKind;
  constructor(kind: SynthesisErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SynthesisError";
    this.kind = kind;
  }
}
