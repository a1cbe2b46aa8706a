/**
 * Tool calls as Hermes-style models write them: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
 * Format: https://github.com/NousResearch/Hermes-Function-Calling
 */
import type { ToolCall } from "../../core/trajectory.ts";
import type { ParsedReply } from "./template.ts";

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

/** Splits a turn's text into its calls and the rest. What only looks like a call stays text. */
export function parseToolCalls(text: string, callPrefix: string): ParsedReply {
  const toolCalls: ToolCall[] = [];
  let content = "";
  let from = 0;
  for (let at = text.indexOf(OPEN); at >= 0; at = text.indexOf(OPEN, at)) {
    const found = callAt(text, at);
    if (!found) {
      at += OPEN.length;
      continue;
    }
    content += text.slice(from, at);
    toolCalls.push({ id: `${callPrefix}-${toolCalls.length}`, ...found.call });
    from = at = found.end;
  }
  content = (content + text.slice(from)).trim();
  return { content: content === "" ? null : content, toolCalls };
}
