/** A model's chat template, rendered as the reference library does (https://huggingface.co/docs/transformers/chat_templating). */
import { Template } from "@huggingface/jinja";
import type { Message, ToolCall } from "../../../core/trajectory.ts";
import type { ToolDefinition } from "../template.ts";
import { badModel, type ModelParts } from "./files.ts";

export interface RenderInput {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  /** Ends with what opens an assistant's turn. */
  readonly open: boolean;
}

/** Text of a conversation. Throws PolicyError `capability` where the template does not render it. */
export type RenderChat = (input: RenderInput) => string;

/** What a template that asks for the date is told: one that changes would make another prompt of the same task each day. */
const TODAY: Readonly<Record<string, string>> = {
  "%Y": "2025",
  "%y": "25",
  "%m": "01",
  "%d": "01",
  "%B": "January",
  "%b": "Jan",
  "%A": "Wednesday",
  "%a": "Wed",
  "%H": "00",
  "%M": "00",
  "%S": "00",
};

/** The library's own function tells the day it is, and cannot be given anew; a line by itself leaves no trace in the text. */
const DATE = "{% set strftime_now = date_of_all %}";

function callOf({ id, name, arguments: text }: ToolCall) {
  let args: unknown = text;
  try {
    args = JSON.parse(text);
  } catch {
    // Not JSON: templates get it as the text it is.
  }
  return { id, type: "function", function: { name, arguments: args } };
}

/** As templates know it. */
function plainMessage(message: Message, names: ReadonlyMap<string, string>) {
  if (message.role === "tool") {
    const { toolCallId, content } = message;
    const name = names.get(toolCallId);
    return { role: "tool", content, tool_call_id: toolCallId, ...(name === undefined ? {} : { name }) };
  }
  const { role, content } = message;
  const calls = role === "assistant" ? (message.toolCalls ?? []) : [];
  return { role, content: content ?? "", ...(calls.length > 0 ? { tool_calls: calls.map(callOf) } : {}) };
}

export function createChatRenderer(where: string, { chatTemplate, named }: ModelParts): RenderChat {
  const { file } = chatTemplate;
  const why = (error: unknown) => (error instanceof Error ? error.message : String(error));
  let template: Template;
  try {
    template = new Template(`${DATE}\n${chatTemplate.text}`);
  } catch (error) {
    throw badModel(where, file, `the chat template cannot be read (${why(error)})`, error);
  }
  return ({ messages, tools = [], open }) => {
    const names = new Map(
      messages.flatMap((message) =>
        message.role === "assistant"
          ? (message.toolCalls ?? []).map(({ id, name }) => [id, name] as const)
          : [],
      ),
    );
    try {
      return template.render({
        ...named,
        messages: messages.map((message) => plainMessage(message, names)),
        ...(tools.length > 0 ? { tools } : {}),
        add_generation_prompt: open,
        date_of_all: (format: string) => format.replace(/%[a-zA-Z]/g, (part) => TODAY[part] ?? part),
      });
    } catch (error) {
      throw badModel(where, file, `the chat template does not render (${why(error)})`, error);
    }
  };
}
