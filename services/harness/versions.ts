/** Which policy sampled which token, where weights may change within a rollout (`policy.engines.onPublish: continue`). */
import type { TokensByPolicy } from "../../core/lag.ts";
import type { VersionFrom } from "../../core/trajectory.ts";
import type { LedgerTurn } from "./types.ts";

type Row = Pick<LedgerTurn, "sampledTokens" | "weightVersion"> & {
  readonly reply?: Pick<LedgerTurn["reply"], "versions">;
};

/** Of the row's sampled tokens, by their index among them. */
export function versionsOf({ weightVersion, reply }: Row): readonly VersionFrom[] {
  return reply?.versions ?? [{ from: 0, version: weightVersion }];
}

/** Sampled tokens of all rows by the policy that sampled them. */
export function tokensOf(rows: readonly Row[]): TokensByPolicy {
  const counts: Record<string, number> = {};
  for (const row of rows) {
    const versions = versionsOf(row);
    for (const [i, { from, version }] of versions.entries()) {
      const tokens = (versions[i + 1]?.from ?? row.sampledTokens.length) - from;
      if (tokens > 0) counts[version] = (counts[version] ?? 0) + tokens;
    }
  }
  return counts;
}
