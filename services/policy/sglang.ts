/**
 * SGLang: turns by `/generate` with token ids in and out. Fields of requests: `python/sglang/srt/managers/io_struct.py` and
 * `python/sglang/srt/sampling/sampling_params.py`; of replies: `python/sglang/srt/managers/tokenizer_manager.py` (0.5.23).
 *
 * A seed is honoured where the engine was started with `--enable-deterministic-inference`.
 */
import { type Completion, type CompletionTurn, PolicyError } from "./client.ts";
import { type AskEngine, createEngine, type Engine, type EngineOptions } from "./engine.ts";
import { isTokenList, type Said } from "./reply.ts";

interface Reply {
  readonly text?: unknown;
  readonly output_ids?: unknown;
  readonly meta_info?: {
    readonly finish_reason?: { readonly type?: unknown; readonly matched?: unknown } | null;
    readonly prompt_tokens?: unknown;
    readonly cached_tokens?: unknown;
    readonly weight_version?: unknown;
    readonly weight_versions?: readonly { readonly version: string; readonly start: number }[];
    /** Per token: its log-probability, its id, its text. */
    readonly output_token_logprobs?: unknown;
  };
}

type TokenFacts = readonly [number, number, string | null];

function requestOf(turn: CompletionTurn) {
  const { temperature, topP, topK, minP } = turn.sampling;
  return {
    input_ids: turn.prompt,
    return_logprob: true,
    // Of the sampled tokens alone.
    logprob_start_len: -1,
    top_logprobs_num: 0,
    return_text_in_logprobs: true,
    stream: false,
    // Every parameter, always: its defaults come from the model's `generation_config.json`.
    sampling_params: {
      max_new_tokens: turn.maxTokens,
      min_new_tokens: 0,
      temperature,
      top_p: topP,
      // -1 = off; 0 is refused.
      top_k: topK === 0 ? -1 : topK,
      min_p: minP,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      stop: [],
      ignore_eos: false,
      n: 1,
      sampling_seed: turn.seed,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      // Else the token that ended the turn would be cut from ids and text.
      no_stop_trim: true,
    },
  };
}

/** The turn's text without the token that ended it, as other servers tell it, and where its tokens begin. */
function textOf(
  text: unknown,
  facts: readonly TokenFacts[],
  stopped: boolean,
): Pick<Said, "text" | "offsets"> {
  if (typeof text !== "string") return { text, offsets: null };
  const texts = facts.map(([, , one]) => one);
  const last = texts.at(-1);
  const shown = stopped && last && text.endsWith(last) ? text.slice(0, text.length - last.length) : text;
  let at = 0;
  const offsets = texts.map((one) => {
    const begin = at;
    at += one?.length ?? 0;
    return begin;
  });
  return { text: shown, offsets };
}

function versionsOf(spans: Reply["meta_info"] & {}): Completion["versions"] {
  const versions = (spans.weight_versions ?? []).map(({ version, start }) => ({ from: start, version }));
  return versions.length > 1 ? versions : undefined;
}

function saidIn(reply: unknown, turn: CompletionTurn): Said {
  const { text, output_ids, meta_info: meta = {} } = (reply ?? {}) as Reply;
  const given = meta.output_token_logprobs;
  const facts = Array.isArray(given) ? (given as TokenFacts[]) : null;
  const ids = facts?.map(([, id]) => id) ?? null;
  const versions = versionsOf(meta);
  if (typeof meta.prompt_tokens === "number" && meta.prompt_tokens !== turn.prompt.length)
    throw new PolicyError(
      "protocol",
      `the engine saw a prompt of ${meta.prompt_tokens} tokens: ${turn.prompt.length} were sent`,
    );
  return {
    ...textOf(text, facts ?? [], typeof meta.finish_reason?.matched === "number"),
    finish: meta.finish_reason?.type ?? null,
    tokens: isTokenList(output_ids) ? output_ids : ids,
    logProbs: facts?.map(([logProb]) => logProb) ?? null,
    promptTokens: null,
    weightVersion: typeof meta.weight_version === "string" ? meta.weight_version : null,
    ...(versions ? { versions } : {}),
    cachedTokens: meta.cached_tokens,
  };
}

export function createSglangEngine(options: EngineOptions): Engine {
  const info = async (ask: AskEngine, signal?: AbortSignal) =>
    ((await ask("/model_info", { signal })) ?? {}) as Record<string, unknown>;
  return createEngine(options, {
    turn: async (turn, ask) => saidIn(await ask("/generate", { body: requestOf(turn) }), turn),
    version: async (ask, signal) => {
      const { weight_version: version } = await info(ask, signal);
      return typeof version === "string" ? version : null;
    },
    // Its path and served name follow the weights that were loaded last; these two do not.
    model: async (ask, signal) => {
      const { model_type, architectures } = await info(ask, signal);
      return `${[architectures].flat().join(", ")} (${model_type})`;
    },
  });
}
