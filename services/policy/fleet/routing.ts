/**
 * Which engine a conversation goes to: the one that scores highest by a hash of both (rendezvous hashing, Thaler and Ravishankar 1998,
 * https://doi.org/10.1109/90.663936). So its turns meet their prefix in that engine's cache, and where an engine leaves, only its own
 * conversations move.
 */
import { createHash } from "node:crypto";

function score(affinity: string, url: string): bigint {
  return createHash("sha256").update(`${affinity}\0${url}`).digest().readBigUInt64BE();
}

/** All engines, best first; the same for every process and order of `urls`. */
export function rank(affinity: string, urls: readonly string[]): string[] {
  const scored = urls.map((url) => ({ url, score: score(affinity, url) }));
  scored.sort((a, b) => (a.score === b.score ? (a.url < b.url ? -1 : 1) : a.score > b.score ? -1 : 1));
  return scored.map(({ url }) => url);
}
