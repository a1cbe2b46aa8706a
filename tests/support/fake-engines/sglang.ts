/**
 * The routes of SGLang 0.5 that are used here: `python/sglang/srt/entrypoints/http_server.py` and
 * `python/sglang/srt/managers/tokenizer_manager.py` (https://github.com/sgl-project/sglang).
 */
import type { Reply, RouteContext, Routes } from "./engine.ts";
import { loadWeights } from "./weights.ts";

const numberOf = (value: unknown, absent: number) => (typeof value === "number" ? value : absent);

/** Spans as `weight_versions` of meta_info has them. */
function spansOf(versions: readonly { readonly from: number; readonly version: string }[], length: number) {
  return versions.map(({ from, version }, i) => ({
    version,
    start: from,
    end: versions[i + 1]?.from ?? length,
  }));
}

async function generate(context: RouteContext): Promise<Reply> {
  const { body, options, fault } = context;
  const prompt = body.input_ids as number[];
  const params = body.sampling_params as Record<string, unknown>;
  if (prompt.length >= options.maxLength)
    return {
      status: 400,
      body: {
        error: {
          message: `The input (${prompt.length} tokens) is longer than the model's context length (${options.maxLength} tokens).`,
        },
      },
    };
  const turn = await context.turn({
    prompt,
    maxTokens: numberOf(params.max_new_tokens, 128),
    sampling: {
      temperature: numberOf(params.temperature, 1),
      topP: numberOf(params.top_p, 1),
      topK: Math.max(0, numberOf(params.top_k, 0)),
      minP: numberOf(params.min_p, 0),
    },
    seed: numberOf(params.sampling_seed, 0),
  });
  const { tokens, logProbs, finish } = turn.sampled;
  const version = fault === "stale-version" ? "sglang-0000000000000000" : turn.versions.at(-1)!.version;
  const pairs = tokens.map((token, i): [number | null, number, string] => [
    fault === "not-finite" && i === 0 ? null : logProbs[i]!,
    token,
    options.decode([token]),
  ]);
  if (fault === "few-logprobs") pairs.pop();
  const ended = fault === "abort" || turn.aborted;
  const stop = { type: "stop", matched: tokens.at(-1) };
  return {
    body: {
      // With no_stop_trim the token that ends the turn is part of the text.
      text: options.decode(tokens),
      output_ids: tokens,
      meta_info: {
        id: "0",
        finish_reason: ended
          ? { type: "abort", message: "Aborted" }
          : finish === "stop"
            ? stop
            : { type: "length", length: tokens.length },
        prompt_tokens: fault === "retemplate" ? prompt.length - 1 : prompt.length,
        completion_tokens: tokens.length,
        cached_tokens: 0,
        weight_version: version,
        ...(turn.versions.length > 1 ? { weight_versions: spansOf(turn.versions, tokens.length) } : {}),
        ...(body.return_logprob === true ? { output_token_logprobs: pairs } : {}),
      },
    },
  };
}

export const SGLANG_ROUTES: Routes = {
  "POST /generate": { step: "complete", handle: generate },
  "GET /health": { step: "health", handle: () => ({ body: {} }) },
  "GET /model_info": {
    step: "version",
    handle: ({ state, options, fault }) => ({
      body: {
        model_path: options.model,
        served_model_name: options.model,
        tokenizer_path: options.model,
        model_type: "fake",
        architectures: [`${options.model}ForCausalLM`],
        weight_version: fault === "stale-version" ? "sglang-0000000000000000" : state.version,
      },
    }),
  },
  "GET /server_info": {
    step: "models",
    handle: ({ options }) => ({ body: { context_length: options.maxLength } }),
  },
  "POST /pause_generation": {
    step: "pause",
    handle: async (context) => {
      const mode = context.body.mode ?? "abort";
      await context.pause(mode === "abort" ? "abort" : "keep");
      return { body: { status: "ok" } };
    },
  },
  "POST /continue_generation": {
    step: "resume",
    handle: (context) => {
      context.resume();
      return { body: { status: "ok" } };
    },
  },
  "POST /flush_cache": {
    step: "flush",
    // Turns that a pause took back hold no cache (`retract`).
    handle: ({ state }) => ({
      status: state.turns.size === 0 || state.paused === "keep" ? 200 : 400,
      body: {},
    }),
  },
  "POST /update_weights_from_disk": {
    step: "load",
    handle: async (context) => {
      const { state, body } = context;
      try {
        context.load(await loadWeights(String(body.model_path)));
      } catch (error) {
        return { status: 400, body: { success: false, message: String(error), num_paused_requests: 0 } };
      }
      if (typeof body.weight_version === "string") {
        state.version = body.weight_version;
        for (const turn of state.turns)
          turn.versions.push({ from: Math.floor(turn.sampled.tokens.length / 2), version: state.version });
      }
      return { body: { success: true, message: "", num_paused_requests: 0 } };
    },
  },
  "POST /update_weight_version": {
    step: "name-version",
    handle: ({ state, body }) => {
      state.version = String(body.new_version);
      return { body: { success: true, new_version: state.version } };
    },
  },
  "POST /weights_checker": {
    step: "check",
    handle: ({ state }) => ({
      body: {
        success: true,
        message: "",
        per_engine_checksum: JSON.stringify(state.weights),
        ranks: [{ checksums: state.weights }],
      },
    }),
  },
};
