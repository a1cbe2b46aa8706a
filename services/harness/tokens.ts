/** Tokens of a turn, by class. */
import { addTokens, type GeneratedTokens, NO_TOKENS, type TokenCounts } from "../../core/spend.ts";
import type { Completion } from "../policy/client.ts";
import type { Span } from "../policy/template.ts";

/** `known` = tokens at the prompt's beginning that the last turn had: what is computed only once where the server does not say how much it was. */
export function countTurn(
  reply: Pick<Completion, "tokens" | "text" | "offsets" | "usage">,
  spans: readonly Span[],
  known: number,
): TokenCounts {
  const { promptTokens, cachedTokens: cached = known } = reply.usage;
  return { prompt: promptTokens - cached, cached, ...generatedTokens(reply, spans) };
}

/** Each token belongs to the stretch it begins in. Where the server does not say where that is, stretches share the tokens by their length. */
function generatedTokens(
  { tokens, offsets }: Pick<Completion, "tokens" | "offsets">,
  spans: readonly Span[],
): GeneratedTokens {
  const counts = { reasoning: 0, text: 0, toolCalls: 0 };
  const { length } = tokens;
  const whole = spans.reduce((sum, span) => sum + span.length, 0);
  // An end of turn alone says nothing, as text.
  if (whole === 0) return { ...counts, text: length };
  let [end, done] = [0, 0];
  for (const [i, span] of spans.entries()) {
    end += span.length;
    const last = i === spans.length - 1;
    const upTo = offsets?.filter((offset) => offset < end).length ?? Math.round((length * end) / whole);
    counts[span.of] += (last ? length : upTo) - done;
    done = upTo;
  }
  return counts;
}

/** Null where one of them was not counted. */
export function sumTokens(turns: readonly (TokenCounts | undefined)[]): TokenCounts | null {
  let sum = NO_TOKENS;
  for (const turn of turns) {
    if (turn === undefined) return null;
    sum = addTokens(sum, turn);
  }
  return sum;
}
