/** Replies in OpenAI's form. Pure. */
import { parseToolCalls } from "../tool-calls.ts";
import type { EngineReply } from "./engine.ts";

export interface Answered {
  readonly policy: string;
  readonly prompt: ArrayLike<number>;
  readonly reply: EngineReply;
}

/** As vLLM writes tokens that are no text. */
const tokenName = (token: number) => `token_id:${token}`;

function common({ policy, prompt, reply }: Answered) {
  return {
    id: `reply-${prompt.length}`,
    // Replies are functions of their requests; the field is required, the time is not told.
    created: 0,
    model: policy,
    weight_version: policy,
    usage: {
      prompt_tokens: prompt.length,
      completion_tokens: reply.tokens.length,
      total_tokens: prompt.length + reply.tokens.length,
    },
  };
}

/** `logProbs`, `tokenIds`: what the request asked for. */
export function completionBody(answered: Answered, logProbs: boolean, tokenIds: boolean): object {
  const { prompt, reply } = answered;
  return {
    ...common(answered),
    object: "text_completion",
    choices: [
      {
        index: 0,
        text: reply.text,
        finish_reason: reply.finish,
        logprobs: logProbs
          ? {
              tokens: reply.tokens.map(tokenName),
              token_logprobs: reply.logProbs,
              top_logprobs: null,
              text_offset: null,
            }
          : null,
        ...(tokenIds ? { token_ids: reply.tokens } : {}),
      },
    ],
    ...(tokenIds ? { prompt_token_ids: Array.isArray(prompt) ? prompt : Array.from(prompt) } : {}),
  };
}

export function chatBody(answered: Answered, logProbs: boolean, tokenIds: boolean): object {
  const { prompt, reply } = answered;
  // The prompt of each turn is longer than the last one's, so its length makes ids unique in a conversation.
  const { content, toolCalls } = parseToolCalls(reply.text, `call-${prompt.length}`);
  const calls = toolCalls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  const cut = reply.finish === "length";
  return {
    ...common(answered),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content,
          refusal: null,
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        finish_reason: cut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
        logprobs: logProbs
          ? {
              content: reply.tokens.map((token, i) => ({
                token: tokenName(token),
                logprob: reply.logProbs[i]!,
                bytes: null,
                top_logprobs: [],
              })),
              refusal: null,
            }
          : null,
        ...(tokenIds ? { token_ids: reply.tokens } : {}),
      },
    ],
    ...(tokenIds ? { prompt_token_ids: Array.isArray(prompt) ? prompt : Array.from(prompt) } : {}),
  };
}
