/** A bounded cache of command results, the least recently used going first. One per environment: a tree hash says nothing of mounts. */
import type { CommandCache } from "./types.ts";

/** A result is at most 30,000 characters, most have a few hundred. */
const MAX_ENTRIES = 4096;

export function createCommandCache(maxEntries = MAX_ENTRIES): CommandCache {
  const known = new Map<string, string>();
  const keyOf = (treeHash: string, command: string) => `${treeHash} ${command}`;
  return {
    get: (treeHash, command) => {
      const key = keyOf(treeHash, command);
      const result = known.get(key);
      if (result === undefined) return undefined;
      known.delete(key);
      known.set(key, result);
      return result;
    },
    set: (treeHash, command, result) => {
      const key = keyOf(treeHash, command);
      known.delete(key);
      known.set(key, result);
      for (const oldest of known.keys()) {
        if (known.size <= maxEntries) break;
        known.delete(oldest);
      }
    },
  };
}
