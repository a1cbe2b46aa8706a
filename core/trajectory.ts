/** What a rollout leaves behind: turns of exact tokens, and how it ended. */

/** Why the Leaf loop ended (`microsoft/FrogNano`). The four limits are truncations. */
export type ExitReason =
  | "agent"
  | "max_turns"
  | "max_context_len"
  | "max_tokens_per_turn"
  | "max_time"
  | "llm_query_error"
  | "tool_error"
  | "cancelled";

/** True where a limit, not the agent, ended the run. */
export function isTruncated(exit: ExitReason): boolean {
  return (
    exit === "max_turns" ||
    exit === "max_context_len" ||
    exit === "max_tokens_per_turn" ||
    exit === "max_time"
  );
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote it: a JSON text, or anything at all. */
  readonly arguments: string;
}

/** One message of a conversation, as the OpenAI chat protocol has it. */
export type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string | null; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: "tool"; readonly toolCallId: string; readonly content: string };

/** Sampling parameters; every one is sent with every request. `topK` 0 = off. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
}

/**
 * A contiguous stretch of exact tokens. A rollout is one segment unless the prompt stopped being an extension of what was
 * sampled, in which case a new one starts. All arrays have the segment's length.
 */
export interface Segment {
  readonly tokens: readonly number[];
  /** 1 = sampled by the policy and trained on; 0 = prompt or tool result. */
  readonly trainable: readonly (0 | 1)[];
  /** Log-probability at sampling time (nats) under the sampling distribution; 0 where not trainable. */
  readonly logProbs: readonly number[];
  /**
   * Where weights changed within the rollout: the policy that sampled the trainable tokens from an index on, ascending, up to the next entry's. Absent = all
   * are of the trajectory's `weightVersion`.
   */
  readonly versions?: readonly VersionFrom[];
}

export interface VersionFrom {
  /** Index of a token. */
  readonly from: number;
  /** Policy id, as the inference server reported it. */
  readonly version: string;
}

export interface TurnRecord {
  readonly turn: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly toolCalls: readonly ToolCall[];
  /** Text of each result, same order as `toolCalls`. */
  readonly results: readonly string[];
  /** sha256 of the working tree after the turn's calls; null when nothing changed it. */
  readonly treeHash: string | null;
}

export interface Trajectory {
  readonly segments: readonly Segment[];
  readonly turns: readonly TurnRecord[];
  readonly messages: readonly Message[];
  /** Policy that sampled its first token: its id, as the inference server reported it. Segments say which sampled the others, where there were several. */
  readonly weightVersion: string;
  readonly exit: ExitReason;
  /** Tokens sampled by the policy, over all turns: the `n` of the length factor. */
  readonly generatedTokens: number;
}
