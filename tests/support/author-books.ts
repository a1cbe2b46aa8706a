/** Books of an author's requests that are kept in memory, and what they say beside what a scripted server counted. */
import {
  addTokens,
  generatedOf,
  NO_TOKENS,
  type SpendBooks,
  type SpendRequest,
  type TokenCounts,
} from "../../core/spend.ts";
import type { AuthorSettings } from "../../core/synthesis.ts";
import type { Usage } from "./scripted-author/server.ts";

export interface MemoryBooks extends SpendBooks {
  readonly reserved: readonly SpendRequest[];
  readonly settled: ReadonlyMap<string, TokenCounts>;
}

export function memoryBooks(): MemoryBooks {
  const reserved: SpendRequest[] = [];
  const settled = new Map<string, TokenCounts>();
  return {
    reserved,
    settled,
    reserve: async (request) => void reserved.push(request),
    settle: async (key, used) => {
      if (!reserved.some((request) => request.key === key)) throw new Error(`${key} was not reserved`);
      settled.set(key, used);
    },
  };
}

/** Tokens by the classes that both know. */
export function spentBy(of: MemoryBooks | { readonly counted: readonly Usage[] }): Usage {
  if ("counted" in of)
    return of.counted.reduce(
      (sum, one) => ({
        prompt: sum.prompt + one.prompt,
        cached: sum.cached + one.cached,
        reasoning: sum.reasoning + one.reasoning,
        generated: sum.generated + one.generated,
      }),
      { prompt: 0, cached: 0, reasoning: 0, generated: 0 },
    );
  const sum = [...of.settled.values()].reduce(addTokens, NO_TOKENS);
  return {
    prompt: sum.prompt + sum.cached,
    cached: sum.cached,
    reasoning: sum.reasoning,
    generated: generatedOf(sum),
  };
}

export const authorSettings = (baseUrl: string, change: Partial<AuthorSettings> = {}): AuthorSettings => ({
  baseUrl,
  model: "scripted",
  apiKeyEnv: null,
  maxTurns: 12,
  maxTokens: 4096,
  temperature: 1,
  repairs: 2,
  timeoutSeconds: 20,
  ...change,
});
