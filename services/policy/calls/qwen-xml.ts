/**
 * Calls as Qwen3-Coder and Qwen3.5 write them: `<function=name>` with a `<parameter=key>` of bare text each, within `<tool_call>`.
 * Format: chat template of https://huggingface.co/Qwen/Qwen3-Coder-30B-A3B-Instruct
 */
import type { ToolDefinition } from "../template.ts";
import type { FindCalls, FoundCall } from "./found.ts";
import { parseJson, skipSpace } from "./json.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const FUNCTION_END = "</function>";
const PARAMETER_END = "</parameter>";

/** Where `text` goes on behind `what` and the white space before it; -1 where something else stands there. */
function after(text: string, at: number, what: string): number {
  const from = skipSpace(text, at);
  return text.startsWith(what, from) ? from + what.length : -1;
}

/** A tag with a name, as `<function=Bash>`: its name, and where the text goes on. */
function named(
  text: string,
  at: number,
  tag: string,
): { readonly name: string; readonly end: number } | null {
  const from = after(text, at, `<${tag}=`);
  if (from < 0) return null;
  const close = text.indexOf(">", from);
  const name = close < 0 ? "" : text.slice(from, close);
  return name === "" || /[\s<]/.test(name) ? null : { name, end: close + 1 };
}

const isCallEnd = (text: string, at: number): boolean => {
  const end = after(text, at, FUNCTION_END);
  return end >= 0 && after(text, end, CLOSE) >= 0;
};

/** A value may hold tags itself: it ends at the first closing one behind which the call goes on or ends. */
function valueEnd(text: string, from: number): number {
  for (let at = text.indexOf(PARAMETER_END, from); at >= 0; at = text.indexOf(PARAMETER_END, at + 1)) {
    const next = at + PARAMETER_END.length;
    if (isCallEnd(text, next) || named(text, next, "parameter")) return at;
  }
  return -1;
}

function typesOf(name: string, key: string, tools: readonly ToolDefinition[]): readonly unknown[] {
  const tool = tools.find((one) => one.function.name === name)?.function.parameters;
  const properties = (tool?.properties ?? {}) as Record<string, { readonly type?: unknown } | undefined>;
  return Object.hasOwn(properties, key) ? [properties[key]?.type].flat() : [];
}

/** Text is text where the tool wants one, or says nothing; else it is JSON, or stays what it is. Python's words for truth count too. */
function typedValue(text: string, types: readonly unknown[]): unknown {
  if (types.length === 0 || types.includes("string") || types[0] === undefined) return text;
  const trimmed = text.trim();
  if (types.includes("boolean") && /^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  const value = parseJson(trimmed);
  return value === undefined ? text : value;
}

/** One line break belongs to the tag before the value, one to the tag behind it. */
function bare(text: string): string {
  return text.replace(/^\n/, "").replace(/\n$/, "");
}

function callAt(text: string, at: number, tools: readonly ToolDefinition[]): FoundCall | null {
  const opened = named(text, at + OPEN.length, "function");
  if (!opened) return null;
  const values: [string, unknown][] = [];
  let from = opened.end;
  for (;;) {
    const parameter = named(text, from, "parameter");
    if (!parameter) break;
    const end = valueEnd(text, parameter.end);
    if (end < 0) return null;
    const types = typesOf(opened.name, parameter.name, tools);
    values.push([parameter.name, typedValue(bare(text.slice(parameter.end, end)), types)]);
    from = end + PARAMETER_END.length;
  }
  if (!isCallEnd(text, from)) return null;
  const end = after(text, after(text, from, FUNCTION_END), CLOSE);
  return {
    start: at,
    end,
    call: { name: opened.name, arguments: JSON.stringify(Object.fromEntries(values)) },
  };
}

export const findQwenXml: FindCalls = (text, tools) => {
  const calls: FoundCall[] = [];
  for (let at = text.indexOf(OPEN); at >= 0; ) {
    const found = callAt(text, at, tools);
    if (found) calls.push(found);
    at = text.indexOf(OPEN, found ? found.end : at + OPEN.length);
  }
  return calls;
};
