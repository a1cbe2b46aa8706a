/** The one way to a policy: token ids in; token ids, log-probabilities and a weight version out. */
import type { Sampling } from "../../core/trajectory.ts";

export interface Capabilities {
  /** False = evaluation only. */
  readonly tokenIds: boolean;
  readonly logProbs: boolean;
  readonly weightVersion: boolean;
  readonly seed: boolean;
}

export interface CompletionTurn {
  /** Policy id (weight version) that must answer. */
  readonly policy: string;
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Unsigned 32-bit; the same turn with the same seed gives the same tokens. */
  readonly seed: number;
  /** Turns of one rollout share a value: they go to one engine, which has their prefix in its cache. It changes no token. */
  readonly affinity?: string;
  readonly signal?: AbortSignal;
}

export interface Completion {
  /** The prompt as the server saw it, where it says so; the harness compares it with what was sent. */
  readonly promptTokens?: readonly number[];
  readonly text: string;
  readonly tokens: readonly number[];
  /** Same length as `tokens`. */
  readonly logProbs: readonly number[];
  readonly finish: "stop" | "length";
  readonly weightVersion: string;
  /**
   * Where weights changed within the turn (`onPublish: continue`): the version of each token from an index on, ascending, the first from 0.
   * Absent = all are of `weightVersion`, which is the oldest of them.
   */
  readonly versions?: readonly { readonly from: number; readonly version: string }[];
  /** Where in `text` each token begins, where the server says so. */
  readonly offsets?: readonly number[];
  readonly usage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    /** Of the prompt, what the server had in its cache; absent where it does not say. */
    readonly cachedTokens?: number;
    /** Seconds the turn waited for room on an engine; absent where nothing is waited for. */
    readonly queueSeconds?: number;
  };
}

/** `context` = the prompt does not fit; `aborted`/`unreachable`/`protocol` are infrastructure; `capability` refuses the server. */
export type PolicyErrorKind =
  | "context"
  | "aborted"
  | "unreachable"
  | "protocol"
  | "capability"
  | "not-served";

export class PolicyError extends Error {
  readonly kind: PolicyErrorKind;
  constructor(kind: PolicyErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PolicyError";
    this.kind = kind;
  }
}

export interface PolicyClient {
  capabilities(): Promise<Capabilities>;
  complete(turn: CompletionTurn): Promise<Completion>;
}
