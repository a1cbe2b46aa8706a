/**
 * Calls as most other models write them: JSON with a name and arguments, within tags or a fence, behind Mistral's `[TOOL_CALLS]`, or as all
 * of the turn (Llama 3: `{"name": …, "parameters": {…}}`, https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/).
 */
import type { ToolCall } from "../../../core/trajectory.ts";
import type { FindCalls, FoundCall } from "./found.ts";
import { callOf, jsonEnd, parseJson, skipSpace } from "./json.ts";

/** What opens a call, and what closes it; null = nothing does. */
const FRAMES: readonly (readonly [string, string | null])[] = [
  ["<tool_call>", "</tool_call>"],
  ["<function_call>", "</function_call>"],
  ["[TOOL_CALLS]", null],
  ["```json", "```"],
  ["```tool_call", "```"],
];

const PYTHON_TAG = "<|python_tag|>";

/** As `{ name, arguments }`, `{ name, parameters }`, or OpenAI's `{ function: { name, arguments } }`. */
function callIn(value: unknown): Omit<ToolCall, "id"> | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const given = value as Record<string, unknown>;
  if (typeof given.function === "object") return callIn(given.function);
  const args = given.arguments ?? given.parameters;
  const isArguments =
    typeof args === "string" || (typeof args === "object" && args !== null && !Array.isArray(args));
  return isArguments ? callOf(given.name, args) : null;
}

/** The calls of one JSON value: an object, or a list of nothing but calls. */
function callsIn(value: unknown): Omit<ToolCall, "id">[] | null {
  const calls = (Array.isArray(value) ? value : [value]).map(callIn);
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
}

/** Calls that one stretch of text holds: the first takes it, the others stand at its end. */
function spread(calls: readonly Omit<ToolCall, "id">[], start: number, end: number): FoundCall[] {
  return calls.map((call, i) => ({ start: i === 0 ? start : end, end, call }));
}

function framedAt(text: string, at: number, [open, close]: (typeof FRAMES)[number]): FoundCall[] | null {
  const from = skipSpace(text, at + open.length);
  if (text[from] !== "{" && text[from] !== "[") return null;
  const end = jsonEnd(text, from);
  const calls = end < 0 ? null : callsIn(parseJson(text.slice(from, end)));
  if (calls === null) return null;
  if (close === null) return spread(calls, at, end);
  const closing = skipSpace(text, end);
  return text.startsWith(close, closing) ? spread(calls, at, closing + close.length) : null;
}

function framed(text: string): FoundCall[] {
  const found: FoundCall[] = [];
  let at = 0;
  while (at < text.length) {
    const frame = FRAMES.find(([open]) => text.startsWith(open, at));
    const calls = frame ? framedAt(text, at, frame) : null;
    if (calls) found.push(...calls);
    at = calls ? calls.at(-1)!.end : at + 1;
  }
  return found;
}

/** From `from` on the text is nothing but calls, one JSON value after the other; Llama puts `;` between them. */
function bareFrom(text: string, from: number): FoundCall[] {
  const found: FoundCall[] = [];
  for (let at = skipSpace(text, from); at < text.length; ) {
    const end = text[at] === "{" || text[at] === "[" ? jsonEnd(text, at) : -1;
    const calls = end < 0 ? null : callsIn(parseJson(text.slice(at, end)));
    if (calls === null) return [];
    found.push(...spread(calls, at, end));
    at = skipSpace(text, end);
    if (text[at] === ";") at = skipSpace(text, at + 1);
  }
  return found;
}

export const findGeneric: FindCalls = (text) => {
  const inFrames = framed(text);
  if (inFrames.length > 0) return inFrames;
  const tag = text.indexOf(PYTHON_TAG);
  if (tag >= 0) return bareFrom(text, tag + PYTHON_TAG.length);
  const thought = text.indexOf("</think>");
  return bareFrom(text, thought < 0 ? 0 : thought + "</think>".length);
};
