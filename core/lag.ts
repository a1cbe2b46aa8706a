/** How old the tokens of a group or a batch are, in versions of the policy: counted by token, from what each rollout has on record. */

/** Sampled tokens by the id of the policy that sampled them. */
export type TokensByPolicy = Readonly<Record<string, number>>;

/** `counts[k]` = tokens that were k versions old when an update used them. */
export type LagCounts = readonly number[];

/** Of one rollout: `versions` where more than one policy took part, else all its tokens are of `policy`. */
export function tokensByPolicy(rollout: {
  readonly policy: string;
  readonly generated_tokens: number;
  readonly versions: TokensByPolicy | null;
}): TokensByPolicy {
  return rollout.versions ?? { [rollout.policy]: rollout.generated_tokens };
}

export function addTokens(a: TokensByPolicy, b: TokensByPolicy): TokensByPolicy {
  const sum: Record<string, number> = { ...a };
  for (const [policy, tokens] of Object.entries(b)) sum[policy] = (sum[policy] ?? 0) + tokens;
  return sum;
}

/** Index in `versions` (oldest first) of the oldest of the policies; null where one is none of them. */
export function oldestVersion(policies: Iterable<string>, versions: readonly string[]): number | null {
  let oldest: number | null = null;
  for (const policy of policies) {
    const version = versions.lastIndexOf(policy);
    if (version < 0) return null;
    oldest = oldest === null ? version : Math.min(oldest, version);
  }
  return oldest;
}

/** Of tokens that an update of the last of `versions` (oldest first) uses. Throws RangeError on a policy that is none of them. */
export function lagCounts(tokens: TokensByPolicy, versions: readonly string[]): LagCounts {
  const counts: number[] = [];
  for (const [policy, count] of Object.entries(tokens)) {
    const version = versions.lastIndexOf(policy);
    if (version < 0) throw new RangeError(`${policy} is no version of this climb`);
    const lag = versions.length - 1 - version;
    while (counts.length <= lag) counts.push(0);
    counts[lag]! += count;
  }
  return counts;
}

/** Mean age of a token, in versions; null without tokens. */
export function meanLag(counts: LagCounts): number | null {
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  return tokens === 0 ? null : counts.reduce((sum, count, lag) => sum + lag * count, 0) / tokens;
}
