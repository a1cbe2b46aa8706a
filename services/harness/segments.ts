/** From ledger rows to training segments: rows are joined while each prompt extends what was sampled before it. */
import type { Segment, VersionFrom } from "../../core/trajectory.ts";
import type { LedgerTurn } from "./types.ts";
import { versionsOf } from "./versions.ts";

/** True where `tokens` begins with `prefix`. */
export function startsWith(tokens: readonly number[], prefix: readonly number[]): boolean {
  if (tokens.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (tokens[i] !== prefix[i]) return false;
  return true;
}

type Row = Pick<
  LedgerTurn,
  "promptTokens" | "sampledTokens" | "logProbs" | "newSegment" | "weightVersion"
> & {
  readonly reply?: Pick<LedgerTurn["reply"], "versions">;
};

export function segmentsOf(rows: readonly Row[]): Segment[] {
  const segments: {
    tokens: number[];
    trainable: (0 | 1)[];
    logProbs: number[];
    versions: VersionFrom[];
  }[] = [];
  for (const row of rows) {
    if (row.newSegment || segments.length === 0)
      segments.push({ tokens: [], trainable: [], logProbs: [], versions: [] });
    const segment = segments.at(-1)!;
    for (const token of row.promptTokens) {
      segment.tokens.push(token);
      segment.trainable.push(0);
      segment.logProbs.push(0);
    }
    for (const { from, version } of row.sampledTokens.length > 0 ? versionsOf(row) : [])
      if (segment.versions.at(-1)?.version !== version)
        segment.versions.push({ from: segment.tokens.length + from, version });
    for (const [i, token] of row.sampledTokens.entries()) {
      segment.tokens.push(token);
      segment.trainable.push(1);
      segment.logProbs.push(row.logProbs[i]!);
    }
  }
  // One version is the trajectory's: it is said there.
  const policies = new Set(segments.flatMap(({ versions }) => versions.map(({ version }) => version)));
  return segments.map(({ versions, ...segment }) => (policies.size > 1 ? { ...segment, versions } : segment));
}
