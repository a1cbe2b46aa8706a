/** Calls of tools by the family of models that writes them so (`policy.engines.calls`). */
import type { CallFormat } from "../../../core/experiment.ts";
import type { ParsedReply, Span, ToolDefinition } from "../template.ts";
import { findHermesJson } from "../tool-calls.ts";
import { type FindCalls, type FoundCall, reasoningEnd, spansAround, withoutCalls } from "./found.ts";
import { findGeneric } from "./generic.ts";
import { findQwenXml } from "./qwen-xml.ts";

const FAMILIES: Readonly<Record<CallFormat, FindCalls>> = {
  "qwen-xml": findQwenXml,
  "hermes-json": findHermesJson,
  generic: findGeneric,
};

/** What is reasoned about is not done: calls begin where reasoning ends. */
function callsOf(format: CallFormat, text: string, tools: readonly ToolDefinition[]): readonly FoundCall[] {
  const found = FAMILIES[format](text, tools);
  const thought = reasoningEnd(text, found);
  return found.filter(({ start }) => start >= thought);
}

export function parseTurn(
  format: CallFormat,
  text: string,
  callPrefix: string,
  tools: readonly ToolDefinition[] = [],
): ParsedReply {
  return withoutCalls(text, callsOf(format, text, tools), callPrefix);
}

export function turnSpans(format: CallFormat, text: string): readonly Span[] {
  return spansAround(text, callsOf(format, text, []));
}
