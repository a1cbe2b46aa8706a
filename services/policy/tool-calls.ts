/**
 * Tool calls as Hermes-style models write them: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
 * Format: https://github.com/NousResearch/Hermes-Function-Calling
 */
import type { ToolCall } from "../../core/trajectory.ts";
import type { ParsedReply, Span } from "./template.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";

/** One call as the text of a turn. `arguments` that hold a JSON object are written as one, anything else as a string. */
export function renderToolCall(call: { readonly name: string; readonly arguments: string }): string {
  let args: unknown = call.arguments;
  try {
    const value: unknown = JSON.parse(call.arguments);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) args = value;
  } catch {
    // Not JSON: it stays the string it is.
  }
  return `${OPEN}${JSON.stringify({ name: call.name, arguments: args })}${CLOSE}`;
}

/** End (exclusive) of the JSON object that starts at `from`, by its braces outside of strings; -1 when it does not end. */
function objectEnd(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return i + 1;
  }
  return -1;
}

function parseCall(json: string): { readonly name: string; readonly arguments: string } | null {
  try {
    const value = JSON.parse(json) as { readonly name?: unknown; readonly arguments?: unknown };
    if (typeof value.name !== "string") return null;
    const args = value.arguments ?? {};
    return { name: value.name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
  } catch {
    return null;
  }
}

/** The call whose opening tag stands at `at`, and where it ends; null when it is none. The tag may occur in a JSON string. */
function callAt(text: string, at: number) {
  let from = at + OPEN.length;
  while (/\s/.test(text[from] ?? "")) from++;
  if (text[from] !== "{") return null;
  const end = objectEnd(text, from);
  if (end < 0) return null;
  let close = end;
  while (/\s/.test(text[close] ?? "")) close++;
  if (!text.startsWith(CLOSE, close)) return null;
  const call = parseCall(text.slice(from, end));
  return call && { call, end: close + CLOSE.length };
}

/** The calls of a turn's text, in order, and where each stands. What only looks like a call is none. */
function callsIn(text: string) {
  const calls: { readonly start: number; readonly end: number; readonly call: Omit<ToolCall, "id"> }[] = [];
  for (let at = text.indexOf(OPEN); at >= 0; at = text.indexOf(OPEN, at)) {
    const found = callAt(text, at);
    if (found) calls.push({ start: at, ...found });
    at = found ? found.end : at + OPEN.length;
  }
  return calls;
}

/** Splits a turn's text into its calls and the rest. */
export function parseToolCalls(text: string, callPrefix: string): ParsedReply {
  const toolCalls: ToolCall[] = [];
  let content = "";
  let from = 0;
  for (const { start, end, call } of callsIn(text)) {
    content += text.slice(from, start);
    toolCalls.push({ id: `${callPrefix}-${toolCalls.length}`, ...call });
    from = end;
  }
  content = (content + text.slice(from)).trim();
  return { content: content === "" ? null : content, toolCalls };
}

const THINK = "<think>";
const THOUGHT = "</think>";

/** Where reasoning ends: at its closing tag, which stands alone where the prompt opened it; a call may quote one. 0 = there is none. */
function reasoningEnd(text: string, calls: readonly { readonly start: number; readonly end: number }[]) {
  for (let at = text.indexOf(THOUGHT); at >= 0; at = text.indexOf(THOUGHT, at + 1))
    if (!calls.some(({ start, end }) => at >= start && at < end)) return at + THOUGHT.length;
  return text.trimStart().startsWith(THINK) ? text.length : 0;
}

/** A turn's text in stretches: its calls, and what is reasoned before the rest. */
export function spansOf(text: string): readonly Span[] {
  const calls = callsIn(text);
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
