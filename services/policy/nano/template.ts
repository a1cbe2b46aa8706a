/** The embedded policy's chat template: each message is a role's marker, its text in bytes, and the end marker. */
import type { Message } from "../../../core/trajectory.ts";
import type { PolicyTemplate } from "../template.ts";
import { parseToolCalls, renderToolCall, spansOf } from "../tool-calls.ts";
import { ASSISTANT, END_OF_TURN, encodeText, SYSTEM, TOOL, USER } from "./tokens.ts";

const MARKERS = { system: SYSTEM, user: USER, assistant: ASSISTANT, tool: TOOL } as const;

/** An assistant's turn as text, as the policy itself would write it. */
function messageText(message: Message): string {
  if (message.role !== "assistant") return message.content;
  const calls = (message.toolCalls ?? []).map(renderToolCall);
  return [...(message.content ? [message.content] : []), ...calls].join("\n");
}

export function messageTokens(message: Message): number[] {
  return [MARKERS[message.role], ...encodeText(messageText(message)), END_OF_TURN];
}

/** The policy knows its tools: their schemas are no part of the prompt. */
export function createNanoTemplate(): PolicyTemplate {
  return {
    start: (messages) => [...messages.flatMap(messageTokens), ASSISTANT],
    extend: (messages) => [...messages.flatMap(messageTokens), ASSISTANT],
    parse: parseToolCalls,
    spans: spansOf,
  };
}
