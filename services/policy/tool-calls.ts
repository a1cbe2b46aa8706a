/**
 * Tool calls as Hermes-style models write them: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
 * Format: https://github.com/NousResearch/Hermes-Function-Calling
 */
import { type FindCalls, type FoundCall, spansAround, withoutCalls } from "./calls/found.ts";
import { callOf, jsonEnd, parseJson, skipSpace } from "./calls/json.ts";
import type { ParsedReply, Span } from "./template.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";

/** One call as the text of a turn. `arguments` that hold a JSON object are written as one, anything else as a string. */
export function renderToolCall(call: { readonly name: string; readonly arguments: string }): string {
  const value = parseJson(call.arguments);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return `${OPEN}${JSON.stringify({ name: call.name, arguments: isObject ? value : call.arguments })}${CLOSE}`;
}

/** The call whose opening tag stands at `at`, and where it ends; null when it is none. The tag may occur in a JSON string. */
function callAt(text: string, at: number): FoundCall | null {
  const from = skipSpace(text, at + OPEN.length);
  if (text[from] !== "{") return null;
  const end = jsonEnd(text, from);
  if (end < 0) return null;
  const close = skipSpace(text, end);
  if (!text.startsWith(CLOSE, close)) return null;
  const value = parseJson(text.slice(from, end)) as { name?: unknown; arguments?: unknown } | undefined;
  const call = value ? callOf(value.name, value.arguments ?? {}) : null;
  return call && { start: at, end: close + CLOSE.length, call };
}

export const findHermesJson: FindCalls = (text) => {
  const calls: FoundCall[] = [];
  for (let at = text.indexOf(OPEN); at >= 0; ) {
    const found = callAt(text, at);
    if (found) calls.push(found);
    at = text.indexOf(OPEN, found ? found.end : at + OPEN.length);
  }
  return calls;
};

/** Splits a turn's text into its calls and the rest. */
export function parseToolCalls(text: string, callPrefix: string): ParsedReply {
  return withoutCalls(text, findHermesJson(text, []), callPrefix);
}

/** A turn's text in stretches: its calls, and what is reasoned before the rest. */
export function spansOf(text: string): readonly Span[] {
  return spansAround(text, findHermesJson(text, []));
}
