/** Task synthesis: generators make candidates, gates validate them, the statement writer words them. */
import type { Diagnosis } from "../../core/diagnosis.ts";
import type { RandomStream } from "../../core/random.ts";
import type { RewriteAction } from "../../core/refinement.ts";
import type { SpendBooks, SpendPhase } from "../../core/spend.ts";
import type { AuthorSettings, GateSettings, HistorySettings } from "../../core/synthesis.ts";
import type {
  AuthoredText,
  FileChange,
  GeneratorName,
  StatementLevel,
  Task,
  TaskOrigin,
  TaskType,
  TypeCheck,
} from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { Benchmark } from "./contamination.ts";

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
  /** What it is spent for; absent = synthesise. */
  readonly phase?: SpendPhase;
  readonly failures: readonly FailureNote[];
  /** What was answered already: an attempt that goes on after another asks nothing twice. Absent = nothing is kept. */
  readonly replies?: AuthorReplies;
}

/** By the keys of the requests. */
export interface AuthorReplies {
  find(key: string): Promise<object | undefined>;
  keep(key: string, reply: object): Promise<void>;
}

/** How a task's text is to be changed, its change and tests staying as they are. */
export interface RewriteRequest {
  readonly task: Task;
  /** Level of the statement that was probed. */
  readonly level: StatementLevel;
  readonly action: RewriteAction["action"];
  readonly diagnosis: Diagnosis | null;
  /** 1-based, of all refinements of the candidate. */
  readonly round: number;
  /** As `ValidateOptions` has them. */
  readonly benchmarks?: readonly Benchmark[];
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
  /** `none`: why this draw gives no candidate, for the record. */
  generate(
    environment: PreparedEnvironment,
    brief: Brief,
    random: RandomStream,
  ): Promise<Candidate | { readonly none: string }>;
}

/** Their order is that of gates/index.ts. */
export type GateName =
  | "build"
  | "contamination"
  | "leak"
  | "ends"
  | "fail-to-pass"
  | "no-op"
  | "gold"
  | "stability"
  | "wrong-solution"
  | "alternative"
  | "type"
  | "reproduction"
  | "determined";

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
  /** What `gates.decontaminate` names, read; absent = nothing. */
  readonly benchmarks?: readonly Benchmark[];
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
  /** Combines a candidate of one or two known edits with another mistake; `revises` says of what it is made. */
  harden(
    environment: PreparedEnvironment,
    candidate: Candidate,
    revises: NonNullable<TaskOrigin["revises"]>,
    brief: Brief,
    random: RandomStream,
  ): Promise<Candidate | { readonly none: string }>;
  /** Has the author word a task anew; what it writes has passed the gates of statements. The result is another task. */
  rewrite(
    environment: PreparedEnvironment,
    request: RewriteRequest,
    author: AuthorBrief,
    signal?: AbortSignal,
  ): Promise<{ readonly task: Task; readonly gates: readonly GateVerdict[] } | { readonly none: string }>;
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
