/** Which limit a reply ran into, as Leaf decides it. */
import type { RolloutLimits } from "../../core/experiment.ts";
import type { ExitReason } from "../../core/trajectory.ts";

/** Why a reply was cut by length; `usage` null = the server did not say. `maxTokensPerTurn` null = no cap on a turn. */
export function lengthExit(
  usage: { readonly promptTokens: number; readonly completionTokens: number } | null,
  limits: { readonly maxContextTokens: number; readonly maxTokensPerTurn: number | null },
): ExitReason {
  if (usage === null) return limits.maxTokensPerTurn === null ? "max_context_len" : "max_tokens_per_turn";
  if (usage.promptTokens + usage.completionTokens >= limits.maxContextTokens) return "max_context_len";
  if (limits.maxTokensPerTurn !== null && usage.completionTokens >= limits.maxTokensPerTurn)
    return "max_tokens_per_turn";
  return "max_context_len";
}

/** Why no further turn may start; null = it may. `seconds` = model and tool time so far. */
export function exitBeforeTurn(
  turn: number,
  promptTokens: number,
  seconds: number,
  limits: RolloutLimits,
): ExitReason | null {
  if (turn > 0 && promptTokens >= limits.maxContextTokens) return "max_context_len";
  if (turn >= limits.maxTurns) return "max_turns";
  if (limits.maxSeconds !== null && seconds >= limits.maxSeconds) return "max_time";
  return promptTokens >= limits.maxContextTokens ? "max_context_len" : null;
}
