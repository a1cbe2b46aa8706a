/** Calls found in a turn's text, and what the turn is without them. */
import type { ToolCall } from "../../../core/trajectory.ts";
import type { ParsedReply, Span, ToolDefinition } from "../template.ts";

export interface FoundCall {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly call: Omit<ToolCall, "id">;
}

/** All calls of a text, in order; what only looks like a call is none. `tools` tell the types of arguments that are written as text. */
export type FindCalls = (text: string, tools: readonly ToolDefinition[]) => readonly FoundCall[];

/** A turn as its calls and the text around them. */
export function withoutCalls(text: string, found: readonly FoundCall[], callPrefix: string): ParsedReply {
  let content = "";
  let from = 0;
  for (const { start, end } of found) {
    content += text.slice(from, start);
    from = end;
  }
  content = (content + text.slice(from)).trim();
  return {
    content: content === "" ? null : content,
    toolCalls: found.map(({ call }, i) => ({ id: `${callPrefix}-${i}`, ...call })),
  };
}

const THINK = "<think>";
const THOUGHT = "</think>";

/** Where reasoning ends: at its closing tag, which stands alone where the prompt opened it; a call may quote one. 0 = there is none. */
export function reasoningEnd(
  text: string,
  calls: readonly { readonly start: number; readonly end: number }[],
): number {
  for (let at = text.indexOf(THOUGHT); at >= 0; at = text.indexOf(THOUGHT, at + 1))
    if (!calls.some(({ start, end }) => at >= start && at < end)) return at + THOUGHT.length;
  return text.trimStart().startsWith(THINK) ? text.length : 0;
}

/** A turn's text in stretches: its calls, and what is reasoned before the rest. */
export function spansAround(text: string, calls: readonly FoundCall[]): readonly Span[] {
  const thought = reasoningEnd(text, calls);
  const spans: Span[] = [];
  const add = (of: Span["of"], length: number) => length > 0 && spans.push({ of, length });
  const rest = (from: number, to: number) => {
    add("reasoning", Math.min(to, thought) - from);
    add("text", to - Math.max(from, thought));
  };
  let from = 0;
  for (const { start, end } of calls) {
    rest(from, start);
    add("toolCalls", end - start);
    from = end;
  }
  rest(from, text.length);
  return spans;
}
