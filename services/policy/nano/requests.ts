/** Bodies of OpenAI requests, checked: what a completion of the embedded policy needs of them. Pure. */
import type { Message, Sampling, ToolCall } from "../../../core/trajectory.ts";
import { badRequest, RequestError } from "./errors.ts";
import { encodeText } from "./tokens.ts";

export type Body = Readonly<Record<string, unknown>>;

/** Longest conversation: prompt and reply together. The policy has no limit of its own; a server needs one. */
export const MAX_CONTEXT_TOKENS = 262_144;
/** No turn of the policy has more than a few tokens. */
const DEFAULT_MAX_TOKENS = 64;

export interface CommonRequest {
  readonly model: string;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  readonly seed: number;
}

export function parseBody(text: string): Body {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RequestError(400, "invalid_json", `the body is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("the body", "a JSON object");
  return value as Body;
}

function number(
  body: Body,
  field: string,
  fallback: number,
  low: number,
  high: number,
  whole = false,
): number {
  const value = body[field] ?? fallback;
  if (typeof value === "number" && value >= low && value <= high && (!whole || Number.isInteger(value)))
    return value;
  throw badRequest(field, `${whole ? "an integer" : "a number"} from ${low} to ${high}`);
}

export function parseCommon(body: Body): CommonRequest {
  if (typeof body.model !== "string") throw badRequest("model", "the id of a policy");
  if (body.stream === true) throw badRequest("stream", "false: replies are too short to be streamed");
  if ((body.n ?? 1) !== 1) throw badRequest("n", "1");
  const limit = body.max_completion_tokens === undefined ? "max_tokens" : "max_completion_tokens";
  return {
    model: body.model,
    maxTokens: number(body, limit, DEFAULT_MAX_TOKENS, 0, MAX_CONTEXT_TOKENS, true),
    sampling: {
      temperature: number(body, "temperature", 1, 0, 100),
      topP: number(body, "top_p", 1, 0, 1),
      // vLLM and SGLang also write "off" as -1.
      topK: Math.max(0, number(body, "top_k", 0, -1, 2 ** 31, true)),
      minP: number(body, "min_p", 0, 0, 1),
    },
    seed: number(body, "seed", 0, 0, 2 ** 32 - 1, true),
  };
}

export function checkContext(promptTokens: number): void {
  if (promptTokens >= MAX_CONTEXT_TOKENS)
    throw new RequestError(
      400,
      "context_length_exceeded",
      `the prompt has ${promptTokens} tokens: the maximum context length is ${MAX_CONTEXT_TOKENS}`,
    );
}

/** A list of token ids, or a text, which becomes its bytes. */
export function parsePrompt(prompt: unknown): Int32Array {
  if (typeof prompt === "string") return Int32Array.from(encodeText(prompt));
  if (!Array.isArray(prompt)) throw badRequest("prompt", "a list of token ids or a text");
  checkContext(prompt.length);
  const tokens = new Int32Array(prompt.length);
  for (let i = 0; i < tokens.length; i++) {
    const token: unknown = prompt[i];
    if (typeof token !== "number" || !Number.isInteger(token) || token < 0 || token > 0x7fffffff)
      throw badRequest(`prompt[${i}]`, "a token id from 0 to 2147483647");
    tokens[i] = token;
  }
  return tokens;
}

function contentText(content: unknown, field: string): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw badRequest(field, "a text or a list of text parts");
  return content
    .map((part: unknown, i) => {
      const { type, text } = (part ?? {}) as { readonly type?: unknown; readonly text?: unknown };
      if (type !== "text" || typeof text !== "string")
        throw badRequest(`${field}[${i}]`, "a part of type text");
      return text;
    })
    .join("");
}

function parseToolCall(value: unknown, field: string): ToolCall {
  const { id, function: called } = (value ?? {}) as { readonly id?: unknown; readonly function?: unknown };
  const { name, arguments: args } = (called ?? {}) as {
    readonly name?: unknown;
    readonly arguments?: unknown;
  };
  if (typeof name !== "string") throw badRequest(`${field}.function.name`, "a text");
  if (typeof args !== "string") throw badRequest(`${field}.function.arguments`, "a JSON text");
  return { id: typeof id === "string" ? id : "", name, arguments: args };
}

export function parseMessages(messages: unknown): Message[] {
  if (!Array.isArray(messages) || messages.length === 0) throw badRequest("messages", "a list of messages");
  return messages.map((value: unknown, i): Message => {
    const field = `messages[${i}]`;
    const message = (value ?? {}) as Body;
    const content = contentText(message.content, `${field}.content`);
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", content };
      case "user":
        return { role: "user", content };
      case "tool":
        return { role: "tool", toolCallId: String(message.tool_call_id ?? ""), content };
      case "assistant": {
        const calls = message.tool_calls ?? [];
        if (!Array.isArray(calls)) throw badRequest(`${field}.tool_calls`, "a list of tool calls");
        const toolCalls = calls.map((call, k) => parseToolCall(call, `${field}.tool_calls[${k}]`));
        return {
          role: "assistant",
          content: content || null,
          ...(toolCalls.length > 0 ? { toolCalls } : {}),
        };
      }
      default:
        throw badRequest(`${field}.role`, "system, user, assistant or tool");
    }
  });
}
