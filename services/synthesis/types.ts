/** Task synthesis: generators make candidates, gates validate them, the statement writer words them. */
import type { RandomStream } from "../../core/random.ts";
import type { SpendBooks } from "../../core/spend.ts";
import type { AuthorSettings, GateSettings, HistorySettings } from "../../core/synthesis.ts";
import type {
  AuthoredText,
  FileChange,
  GeneratorName,
  Task,
  TaskOrigin,
  TaskType,
  TypeCheck,
} from "../../core/task.ts";
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
  /** Hidden tests that the environment does not have, or has otherwise: put over the tree that is judged, whose own tests stay as they are. */
  readonly tests?: readonly FileChange[];
  /** What a solution must show beside the tests, where the type asks for it. */
  readonly check?: TypeCheck;
  readonly text?: AuthoredText;
  readonly origin?: TaskOrigin;
  /** The author's conversation so far, for when it is sent back; never part of a task. */
  readonly conversation?: readonly object[];
}

/** A failed rollout of an earlier iteration, as an author is told of it. */
export interface FailureNote {
  readonly type: TaskType;
  readonly environment: string;
  readonly statement: string;
  /** Named cause and what it rests on. */
  readonly diagnosis: string;
  readonly evidence: string;
}

/** What a conversation with an author needs. */
export interface AuthorBrief {
  readonly settings: AuthorSettings;
  readonly books: SpendBooks;
  /** Unique and stable: keys of the requests derive from it. */
  readonly key: string;
  readonly failures: readonly FailureNote[];
}

export interface Brief {
  /** Which functions may be changed. */
  readonly functions: "held-out" | "train" | "all";
  readonly heldOutShare: number;
  /** Relative weights of the types that generators which make several choose from; absent = any. */
  readonly types?: Readonly<Record<TaskType, number>>;
  readonly history?: HistorySettings;
  /** Absent = no model writes tasks. */
  readonly author?: AuthorBrief;
  readonly signal?: AbortSignal;
}

export interface TaskGenerator {
  readonly name: GeneratorName;
  /** Null = this draw gives no candidate (no site left); the reason is for the record. */
  generate(
    environment: PreparedEnvironment,
    brief: Brief,
    random: RandomStream,
  ): Promise<Candidate | { readonly none: string }>;
}

/** In the order in which they are asked, cheapest first. */
export const GATES = [
  "build",
  "contamination",
  "leak",
  "ends",
  "fail-to-pass",
  "no-op",
  "gold",
  "stability",
  "wrong-solution",
  "alternative",
  "type",
  "reproduction",
  "determined",
] as const;
export type GateName = (typeof GATES)[number];

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
  /** Absent = none of the gates that it switches. */
  readonly gates?: GateSettings;
  readonly signal?: AbortSignal;
}

export interface SynthesisService {
  generate(
    environment: PreparedEnvironment,
    generator: GeneratorName,
    brief: Brief,
    random: RandomStream,
  ): Promise<Candidate | { readonly none: string }>;
  /** Sends a candidate back to its author with what was said of it, one message each. */
  repair(
    environment: PreparedEnvironment,
    candidate: Candidate,
    messages: readonly string[],
    brief: Brief,
  ): Promise<Candidate | { readonly none: string }>;
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
