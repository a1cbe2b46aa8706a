/** Chat template, tokeniser and tool-call parser of a policy: how messages become tokens, and text becomes calls. */
import type { GeneratedTokens } from "../../core/spend.ts";
import type { Message, ToolCall } from "../../core/trajectory.ts";

/** OpenAI function-calling schema of a tool. */
export interface ToolDefinition {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

export interface ParsedReply {
  /** Text outside of tool calls. */
  readonly content: string | null;
  readonly toolCalls: readonly ToolCall[];
}

/** A stretch of a turn's text, by what it is for. */
export interface Span {
  readonly of: keyof GeneratedTokens;
  /** In UTF-16 units. */
  readonly length: number;
}

export interface PolicyTemplate {
  /** Tokens of the first prompt, up to and including the marker that opens the assistant's turn. */
  start(messages: readonly Message[], tools: readonly ToolDefinition[]): number[];
  /**
   * Tokens of only the new messages after a sampled turn, again up to the marker that opens the assistant's turn. `sampled` = that turn's
   * tokens: where they do not end it, what ends a turn comes first.
   */
  extend(messages: readonly Message[], sampled: readonly number[]): number[];
  /**
   * `callPrefix` makes call ids unique in a rollout: `<callPrefix>-<index>`. Unparsable = content. `tools` tell the types of arguments where a
   * format writes them as bare text.
   */
  parse(text: string, callPrefix: string, tools?: readonly ToolDefinition[]): ParsedReply;
  /** The whole text of a turn, in order. */
  spans(text: string): readonly Span[];
}
