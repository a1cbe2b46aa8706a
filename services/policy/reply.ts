/** What servers say of a turn, and the completion it makes. Pure: every doubt is a PolicyError. */
import { type Capabilities, type Completion, type CompletionTurn, PolicyError } from "./client.ts";

/** A turn as its server tells it. Null = it does not say. */
export interface Said {
  readonly text: unknown;
  /** `stop`, `length`, `abort`, … */
  readonly finish: unknown;
  readonly tokens: readonly number[] | null;
  readonly logProbs: readonly number[] | null;
  /** The prompt as the server saw it. */
  readonly promptTokens: unknown;
  readonly weightVersion: string | null;
  /** Where weights changed within the turn: the version from each token on. */
  readonly versions?: Completion["versions"];
  /** Where in the text each token begins, counted from any one point. */
  readonly offsets: unknown;
  readonly cachedTokens: unknown;
}

/**
 * The fields servers add to OpenAI's for training, and where: vLLM gives `token_ids` and `prompt_token_ids` per choice
 * (`vllm/entrypoints/openai/completion/protocol.py`), SGLang a `weight_version` in `metadata`
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

export function isTokenList(value: unknown): value is number[] {
  if (!Array.isArray(value)) return false;
  // A loop: prompts have ten thousands of tokens, and a closure per token shows.
  for (const one of value) if (!Number.isInteger(one) || one < 0) return false;
  return true;
}

/** Of a reply of `/v1/completions`. */
export function saidBy(reply: unknown): Said {
  const raw = (reply ?? {}) as RawReply;
  const choice = raw.choices?.[0];
  const logProbs = choice?.logprobs?.token_logprobs;
  const version = raw.weight_version ?? raw.metadata?.weight_version;
  return {
    text: choice?.text,
    finish: choice?.finish_reason,
    tokens: isTokenList(choice?.token_ids) ? choice.token_ids : null,
    logProbs: Array.isArray(logProbs) ? (logProbs as number[]) : null,
    promptTokens: choice?.prompt_token_ids ?? raw.prompt_token_ids ?? null,
    weightVersion: typeof version === "string" ? version : null,
    offsets: choice?.logprobs?.text_offset,
    cachedTokens: raw.usage?.prompt_tokens_details?.cached_tokens,
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

/** Throws PolicyError `capability` where one of them is not there, `protocol` where they cannot be those of one turn. */
function sampledOf({ tokens, logProbs }: Said): Pick<Completion, "tokens" | "logProbs"> {
  if (tokens === null) throw new PolicyError("capability", "the server returns no token ids");
  if (logProbs === null)
    throw new PolicyError("capability", "the server returns no log-probabilities of the sampled tokens");
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
      `log-probability ${bad} is ${logProbs[bad]}: expected a finite number up to 0`,
    );
  return { tokens, logProbs };
}

/**
 * `expected` = the version that had to answer. Throws PolicyError `capability` without ids or log-probabilities, `not-served` when other
 * weights answered, `aborted`, `protocol`.
 */
export function completionOf(said: Said, turn: CompletionTurn, expected: string): Completion {
  if (typeof said.text !== "string") throw new PolicyError("protocol", "the reply holds no text of a turn");
  if (said.weightVersion !== null && said.weightVersion !== expected)
    throw new PolicyError(
      "not-served",
      `weight_version ${said.weightVersion} answered: expected ${expected}`,
    );
  const finish = finishOf(said.finish);
  const { tokens, logProbs } = sampledOf(said);
  const promptTokens = isTokenList(said.promptTokens) ? said.promptTokens : null;
  if (promptTokens === null && said.promptTokens !== null)
    throw new PolicyError("protocol", "prompt_token_ids: expected a list of token ids");
  const prompt = promptTokens ?? turn.prompt;
  const cached = said.cachedTokens;
  const saysCached = typeof cached === "number" && Number.isInteger(cached) && cached >= 0;
  const offsets = offsetsOf(said.offsets, tokens, said.text);
  return {
    ...(promptTokens ? { promptTokens } : {}),
    ...(offsets ? { offsets } : {}),
    text: said.text,
    tokens,
    logProbs,
    finish,
    weightVersion: expected,
    usage: {
      promptTokens: prompt.length,
      completionTokens: tokens.length,
      ...(saysCached ? { cachedTokens: Math.min(cached, prompt.length) } : {}),
    },
  };
}

/** A turn any model can answer, to find out what its server can do. */
export const PROBE: Omit<CompletionTurn, "policy"> = {
  prompt: [1, 2, 3],
  maxTokens: 8,
  sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
  seed: 1,
};

/** From two answers to the same turn. */
export function capabilitiesOf(first: Said, second: Said): Capabilities {
  return {
    tokenIds: first.tokens !== null,
    logProbs: first.logProbs !== null && first.logProbs.length === first.tokens?.length,
    weightVersion: first.weightVersion !== null,
    seed: first.text === second.text && JSON.stringify(first.tokens) === JSON.stringify(second.tokens),
  };
}

/** Refuses a server that cannot be trained with, naming what it lacks. `field` = the setting that names it. */
export function requireTraining(capabilities: Capabilities, server: string, field = "policy.baseUrl"): void {
  const lacking = [
    ...(capabilities.tokenIds ? [] : ["token ids (return_token_ids)"]),
    ...(capabilities.logProbs ? [] : ["log-probabilities of the sampled tokens"]),
    ...(capabilities.weightVersion ? [] : ["weight version (weight_version)"]),
  ];
  if (lacking.length > 0)
    throw new PolicyError(
      "capability",
      `${field} ${server}: the server returns no ${lacking.join(" and no ")}; it can be used for evaluation only, not for training`,
    );
}
