/** Reads a completion out of what OpenAI-compatible servers reply. Pure: every doubt is a PolicyError. */
import { type Completion, type CompletionTurn, PolicyError } from "./client.ts";

/**
 * The fields servers add for training, and where: vLLM gives `token_ids` and `prompt_token_ids` per choice (the latter at the root as well,
 * https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html), SGLang a `weight_version` in `metadata`
 * (https://docs.sglang.ai/basic_usage/openai_api_completions.html); this project's server puts it at the root.
 */
interface RawReply {
  readonly choices?: readonly {
    readonly text?: unknown;
    readonly finish_reason?: unknown;
    readonly token_ids?: unknown;
    readonly prompt_token_ids?: unknown;
    readonly logprobs?: { readonly token_logprobs?: unknown; readonly text_offset?: unknown } | null;
  }[];
  readonly prompt_token_ids?: unknown;
  readonly weight_version?: unknown;
  readonly metadata?: { readonly weight_version?: unknown } | null;
  readonly usage?: {
    readonly prompt_tokens_details?: { readonly cached_tokens?: unknown } | null;
  } | null;
}

export interface ReplyFacts {
  readonly tokens: readonly number[] | null;
  readonly logProbs: readonly number[] | null;
  readonly weightVersion: string | null;
}

function isTokenList(value: unknown): value is number[] {
  if (!Array.isArray(value)) return false;
  // A loop: prompts have ten thousands of tokens, and a closure per token shows.
  for (const one of value) if (!Number.isInteger(one) || one < 0) return false;
  return true;
}

/** What the reply holds of what training needs; null = it is not there. */
export function replyFacts(reply: RawReply): ReplyFacts {
  const choice = reply.choices?.[0];
  const logProbs = choice?.logprobs?.token_logprobs;
  const version = reply.weight_version ?? reply.metadata?.weight_version;
  return {
    tokens: isTokenList(choice?.token_ids) ? choice.token_ids : null,
    logProbs: Array.isArray(logProbs) ? (logProbs as number[]) : null,
    weightVersion: typeof version === "string" ? version : null,
  };
}

/** Counted from the turn's own beginning; null where they cannot be those of its tokens. */
function offsetsOf(given: unknown, { length }: readonly number[], text: string): readonly number[] | null {
  if (!isTokenList(given) || given.length !== length || length === 0) return null;
  const offsets = given.map((offset) => offset - given[0]!);
  const ascending = offsets.every((offset, i) => i === 0 || offset >= offsets[i - 1]!);
  return ascending && offsets.at(-1)! <= text.length ? offsets : null;
}

const LENGTH_REASONS: readonly unknown[] = ["length", "max_tokens", "max_new_tokens"];

function finishOf(reason: unknown): Completion["finish"] {
  if (LENGTH_REASONS.includes(reason)) return "length";
  if (reason === "stop" || reason === "tool_calls") return "stop";
  if (reason === "abort" || reason === null)
    throw new PolicyError(
      "aborted",
      `the server ended the turn itself: finish_reason ${JSON.stringify(reason)}`,
    );
  throw new PolicyError("protocol", `finish_reason ${JSON.stringify(reason)}: expected stop or length`);
}

/**
 * `expected` = the policy that had to answer. Throws PolicyError `capability` without ids or log-probabilities, `not-served` when other
 * weights answered, `aborted`, `protocol`.
 */
export function readCompletion(reply: RawReply, turn: CompletionTurn, expected: string): Completion {
  const choice = reply.choices?.[0];
  if (!choice || typeof choice.text !== "string")
    throw new PolicyError("protocol", "choices[0].text: expected a text");
  const { tokens, logProbs, weightVersion } = replyFacts(reply);
  if (weightVersion !== null && weightVersion !== expected)
    throw new PolicyError("not-served", `weight_version ${weightVersion} answered: expected ${expected}`);
  const finish = finishOf(choice.finish_reason);
  if (tokens === null)
    throw new PolicyError("capability", "the server returns no token ids (choices[0].token_ids)");
  if (logProbs === null)
    throw new PolicyError(
      "capability",
      "the server returns no log-probabilities (choices[0].logprobs.token_logprobs)",
    );
  if (tokens.length !== logProbs.length)
    throw new PolicyError(
      "protocol",
      `${tokens.length} tokens came with ${logProbs.length} log-probabilities`,
    );
  // A little above 0 is rounding of the server's float32.
  const bad = logProbs.findIndex((one) => typeof one !== "number" || !Number.isFinite(one) || one > 1e-3);
  if (bad >= 0)
    throw new PolicyError(
      "protocol",
      `token_logprobs[${bad}] is ${logProbs[bad]}: expected a finite number up to 0`,
    );
  const seen = choice.prompt_token_ids ?? reply.prompt_token_ids;
  const promptTokens = isTokenList(seen) ? seen : null;
  if (promptTokens === null && seen !== undefined && seen !== null)
    throw new PolicyError("protocol", "prompt_token_ids: expected a list of token ids");
  const prompt = promptTokens ?? turn.prompt;
  const cached = reply.usage?.prompt_tokens_details?.cached_tokens;
  const said = typeof cached === "number" && Number.isInteger(cached) && cached >= 0;
  const offsets = offsetsOf(choice.logprobs?.text_offset, tokens, choice.text);
  return {
    ...(promptTokens ? { promptTokens } : {}),
    ...(offsets ? { offsets } : {}),
    text: choice.text,
    tokens,
    logProbs,
    finish,
    weightVersion: weightVersion ?? expected,
    usage: {
      promptTokens: prompt.length,
      completionTokens: tokens.length,
      ...(said ? { cachedTokens: Math.min(cached, prompt.length) } : {}),
    },
  };
}
