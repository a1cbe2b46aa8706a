/** From ledger rows to training segments: rows are joined while each prompt extends what was sampled before it. */
import type { Segment } from "../../core/trajectory.ts";
import type { LedgerTurn } from "./types.ts";

/** True where `tokens` begins with `prefix`. */
export function startsWith(tokens: readonly number[], prefix: readonly number[]): boolean {
  if (tokens.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (tokens[i] !== prefix[i]) return false;
  return true;
}

export function segmentsOf(
  rows: readonly Pick<LedgerTurn, "promptTokens" | "sampledTokens" | "logProbs" | "newSegment">[],
): Segment[] {
  const segments: { tokens: number[]; trainable: (0 | 1)[]; logProbs: number[] }[] = [];
  for (const row of rows) {
    if (row.newSegment || segments.length === 0) segments.push({ tokens: [], trainable: [], logProbs: [] });
    const segment = segments.at(-1)!;
    for (const token of row.promptTokens) {
      segment.tokens.push(token);
      segment.trainable.push(0);
      segment.logProbs.push(0);
    }
    for (const [i, token] of row.sampledTokens.entries()) {
      segment.tokens.push(token);
      segment.trainable.push(1);
      segment.logProbs.push(row.logProbs[i]!);
    }
  }
  return segments;
}
