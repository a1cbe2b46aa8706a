/**
 * vLLM: turns by `/v1/completions` with token ids in and out (`vllm/entrypoints/openai/completion/protocol.py`, 0.32). Replies carry no weight
 * version: the engine says it at `/weight_info`, a route of development mode (`VLLM_SERVER_DEV_MODE=1`,
 * `vllm/entrypoints/rl/online/api_router.py`), where whoever published weights has named them.
 *
 * Start it with `--logprobs-mode processed_logprobs`: its default gives log-probabilities from before temperature and filters.
 */
import { PolicyError } from "./client.ts";
import { completionsBody } from "./completions-body.ts";
import { type AskEngine, createEngine, type Engine, type EngineOptions } from "./engine.ts";
import { saidBy } from "./reply.ts";

/** Which weights the engine at `url` serves; null = not known. Throws PolicyError. */
export type VersionSource = (url: string, signal?: AbortSignal) => Promise<string | null>;

export interface VllmOptions extends EngineOptions {
  /** Default: the engine's own `/weight_info`. */
  readonly versions?: VersionSource;
}

async function weightInfo(ask: AskEngine, signal?: AbortSignal): Promise<string | null> {
  try {
    const { weight_version } = (await ask("/weight_info", { signal })) as { weight_version?: unknown };
    return typeof weight_version === "string" ? weight_version : null;
  } catch (error) {
    // Without development mode the route is not there.
    if (error instanceof PolicyError && error.kind === "not-served") return null;
    throw error;
  }
}

export function createVllmEngine(options: VllmOptions): Engine {
  const { versions, url } = options;
  return createEngine(options, {
    turn: async (turn, ask) =>
      saidBy(
        await ask("/v1/completions", {
          body: {
            ...completionsBody(turn),
            // 0 = of the sampled token alone.
            logprobs: 0,
            min_tokens: 0,
            ignore_eos: false,
            stop: [],
            spaces_between_special_tokens: false,
          },
        }),
      ),
    version: (ask, signal) => (versions ? versions(url, signal) : weightInfo(ask, signal)),
    model: async (ask, signal) => {
      const { data } = (await ask("/v1/models", { signal })) as {
        data?: { id?: unknown; max_model_len?: unknown }[];
      };
      const first = data?.[0];
      if (typeof first?.id !== "string")
        throw new PolicyError("protocol", `${url}/v1/models: it lists no model`);
      return `${first.id} of ${first.max_model_len} tokens`;
    },
  });
}
