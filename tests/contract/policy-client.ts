/** The contract of every PolicyClient: what the harness and the trainer rely on, run against a server that serves one policy. */
import { describe, expect, it } from "vitest";
import type { Completion, CompletionTurn, PolicyClient } from "../../services/policy/client.ts";

export interface PolicyUnderTest {
  readonly client: PolicyClient;
  /** Id of the policy it serves. */
  readonly policy: string;
  /** A prompt that the policy answers. */
  readonly prompt: readonly number[];
  /** A prompt that it cannot take; null = it takes any. */
  readonly tooLong: readonly number[] | null;
}

export function policyClientContract(name: string, open: () => PolicyUnderTest): void {
  const turn = (more: Partial<CompletionTurn> = {}): CompletionTurn => ({
    policy: open().policy,
    prompt: open().prompt,
    maxTokens: 32,
    sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
    seed: 7,
    ...more,
  });
  const ask = (more: Partial<CompletionTurn> = {}): Promise<Completion> => open().client.complete(turn(more));

  describe(`${name} as a PolicyClient`, () => {
    it("says what its server can do, and the server can be trained with", async () => {
      expect(await open().client.capabilities()).toMatchObject({
        tokenIds: true,
        logProbs: true,
        seed: true,
      });
    });

    it("returns one finite log-probability up to 0 per token", async () => {
      const { tokens, logProbs } = await ask();
      expect(tokens.length).toBeGreaterThan(0);
      expect(logProbs).toHaveLength(tokens.length);
      for (const one of logProbs) {
        expect(Number.isFinite(one)).toBe(true);
        expect(one).toBeLessThanOrEqual(0);
      }
    });

    it("names the policy that answered and counts the prompt's tokens", async () => {
      const { weightVersion, usage, promptTokens, tokens } = await ask();
      expect(weightVersion).toBe(open().policy);
      expect(usage).toMatchObject({ promptTokens: open().prompt.length, completionTokens: tokens.length });
      if (promptTokens) expect(promptTokens).toEqual(open().prompt);
    });

    it("gives the same tokens and log-probabilities for the same seed, whatever else is asked meanwhile", async () => {
      const alone = await ask();
      const crowd = await Promise.all(
        Array.from({ length: 24 }, (_, i) => ask({ seed: i % 3 === 0 ? 7 : i })),
      );
      expect(crowd.filter((_, i) => i % 3 === 0)).toEqual(Array.from({ length: 8 }, () => alone));
    });

    it("gives other tokens for some other seed", async () => {
      const replies = await Promise.all(Array.from({ length: 24 }, (_, seed) => ask({ seed })));
      expect(new Set(replies.map((one) => JSON.stringify(one.tokens))).size).toBeGreaterThan(1);
    });

    it("does not depend on the seed at temperature 0", async () => {
      const greedy = { temperature: 0, topP: 1, topK: 0, minP: 0 };
      const replies = await Promise.all([1, 2, 3].map((seed) => ask({ seed, sampling: greedy })));
      expect(new Set(replies.map((one) => JSON.stringify(one.tokens))).size).toBe(1);
    });

    it("stops at maxTokens and says so", async () => {
      const cut = await ask({ maxTokens: 1 });
      expect(cut.tokens).toHaveLength(1);
      expect(cut.finish).toBe("length");
    });

    it("refuses a policy that is not served", async () => {
      await expect(ask({ policy: "nano-0000000000000000" })).rejects.toMatchObject({
        name: "PolicyError",
        kind: "not-served",
      });
    });

    it("says when the prompt does not fit", async () => {
      const { tooLong } = open();
      if (tooLong) await expect(ask({ prompt: tooLong })).rejects.toMatchObject({ kind: "context" });
    });

    it("gives up when the caller does", async () => {
      const abort = new AbortController();
      abort.abort();
      await expect(ask({ signal: abort.signal })).rejects.toMatchObject({ kind: "aborted" });
    });
  });
}
