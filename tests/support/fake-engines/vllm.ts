/**
 * The routes of vLLM 0.32 that are used here: `vllm/entrypoints/openai/completion` for turns, `vllm/entrypoints/rl/online/api_router.py` and
 * `vllm/entrypoints/serve/dev` for weights (https://github.com/vllm-project/vllm).
 */
import type { Reply, Route, RouteContext, Routes } from "./engine.ts";
import { loadWeights } from "./weights.ts";

const tooLong = (length: number, max: number): Reply => ({
  status: 400,
  body: {
    error: {
      message: `This model's maximum context length is ${max} tokens. However, your request has ${length} input tokens. Please reduce the length of the input messages.`,
      type: "BadRequestError",
      param: "input_tokens",
      code: 400,
    },
  },
});

const numberOf = (value: unknown, absent: number) => (typeof value === "number" ? value : absent);

async function complete(context: RouteContext): Promise<Reply> {
  const { body, options, fault } = context;
  const prompt = body.prompt as number[];
  if (typeof body.model === "string" && body.model !== options.model)
    return {
      status: 404,
      body: { error: { message: `The model \`${body.model}\` does not exist.`, code: 404 } },
    };
  if (prompt.length >= options.maxLength) return tooLong(prompt.length, options.maxLength);
  const turn = await context.turn({
    prompt,
    maxTokens: numberOf(body.max_tokens, 16),
    sampling: {
      temperature: numberOf(body.temperature, 1),
      topP: numberOf(body.top_p, 1),
      topK: numberOf(body.top_k, 0),
      minP: numberOf(body.min_p, 0),
    },
    seed: numberOf(body.seed, 0),
  });
  const { tokens, logProbs, finish } = turn.sampled;
  const said = [...logProbs] as (number | null)[];
  if (fault === "few-logprobs") said.pop();
  if (fault === "not-finite") said[0] = null;
  const ended = fault === "abort" || turn.aborted;
  // The token that ends a turn is among the ids, and no part of the text.
  const shown = finish === "stop" ? tokens.slice(0, -1) : tokens;
  return {
    body: {
      id: "cmpl-0",
      object: "text_completion",
      created: 0,
      model: options.model,
      choices: [
        {
          index: 0,
          text: options.decode(shown),
          logprobs: body.logprobs == null ? null : { token_logprobs: said, text_offset: [] },
          finish_reason: ended ? "abort" : finish,
          stop_reason: null,
          token_ids: body.return_token_ids === true ? tokens : null,
          prompt_token_ids:
            body.return_token_ids === true
              ? fault === "retemplate"
                ? [1, ...prompt.slice(2)]
                : prompt
              : null,
        },
      ],
      usage: { prompt_tokens: prompt.length, completion_tokens: tokens.length },
    },
  };
}

/** Routes that exist in development mode alone (`VLLM_SERVER_DEV_MODE=1`). */
const dev = (step: Route["step"], handle: Route["handle"]): Route => ({
  step,
  handle: (context) =>
    context.options.devMode ? handle(context) : { status: 404, body: { detail: "Not Found" } },
});

export const VLLM_ROUTES: Routes = {
  "POST /v1/completions": { step: "complete", handle: complete },
  "GET /health": { step: "health", handle: () => ({ body: {} }) },
  "GET /v1/models": {
    step: "models",
    handle: ({ options }) => ({
      body: {
        object: "list",
        data: [{ id: options.model, object: "model", max_model_len: options.maxLength }],
      },
    }),
  },
  "GET /weight_info": dev("version", ({ state, fault }) => ({
    body: { weight_version: fault === "stale-version" ? "vllm-0000000000000000" : state.version },
  })),
  "POST /pause": dev("pause", async (context) => {
    await context.pause((context.query.get("mode") ?? "abort") as "abort" | "wait" | "keep");
    return { body: { status: "paused" } };
  }),
  "POST /resume": dev("resume", (context) => {
    context.resume();
    return { body: { status: "resumed" } };
  }),
  "GET /is_paused": dev("health", ({ state }) => ({ body: { is_paused: state.paused !== null } })),
  "POST /reset_prefix_cache": dev("flush", ({ state, query }) => ({
    body: { success: state.turns.size === 0 || query.get("reset_running_requests") === "true" },
  })),
  "POST /collective_rpc": dev("load", async (context) => {
    const { method, kwargs } = context.body as { method?: string; kwargs?: { weights_path?: string } };
    if (method !== "reload_weights" || !kwargs?.weights_path)
      return { status: 500, body: { error: { message: `collective_rpc ${method}: not known here` } } };
    context.load(await loadWeights(kwargs.weights_path));
    return { body: { results: [null] } };
  }),
  "POST /update_weight_version": dev("name-version", ({ state, body }) => {
    state.version = String(body.new_version);
    for (const turn of state.turns)
      turn.versions.push({ from: Math.floor(turn.sampled.tokens.length / 2), version: state.version });
    return { body: { success: true, new_version: state.version } };
  }),
  "POST /weight_checker": dev("check", ({ state, body }) => {
    if (body.action === "checksum") return { body: { checksums: state.weights } };
    const baseline = (body.baseline ?? {}) as Record<string, string>;
    const names = new Set([...Object.keys(state.weights), ...Object.keys(baseline)]);
    const mismatches = [...names].filter((name) => state.weights[name] !== baseline[name]).sort();
    return { body: { match: mismatches.length === 0, mismatches } };
  }),
};
