/** The request of a turn by `/v1/completions`. */
import type { CompletionTurn } from "./client.ts";

/** Every parameter, always: servers have defaults of their own, some from the model's files (`generation_config.json`). */
export function completionsBody(turn: CompletionTurn) {
  const { temperature, topP, topK, minP } = turn.sampling;
  return {
    // Libraries' types are not readonly; they only serialise.
    prompt: turn.prompt as number[],
    max_tokens: turn.maxTokens,
    temperature,
    top_p: topP,
    top_k: topK,
    min_p: minP,
    seed: turn.seed,
    n: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    repetition_penalty: 1,
    return_token_ids: true,
    skip_special_tokens: false,
    stream: false as const,
  };
}
