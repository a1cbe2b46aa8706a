/** Results of commands by (environment, tree, command), bounded: what `sandbox.reuseCommands` re-uses. */
import type { CommandCache } from "../services/harness/index.ts";

/** Results kept per worker; each is at most 30,000 characters, most are a line. */
const KEPT = 20_000;

export function commandCaches(): (environmentKey: string) => CommandCache {
  const results = new Map<string, string>();
  return (environmentKey) => {
    const keyOf = (treeHash: string, command: string): string => `${environmentKey}\n${treeHash}\n${command}`;
    return {
      get: (treeHash, command) => {
        const key = keyOf(treeHash, command);
        const result = results.get(key);
        if (result !== undefined) {
          results.delete(key);
          results.set(key, result);
        }
        return result;
      },
      set: (treeHash, command, result) => {
        if (results.size >= KEPT) results.delete(results.keys().next().value!);
        results.set(keyOf(treeHash, command), result);
      },
    };
  };
}
