import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import { createEngine, type EngineConversation } from "../../services/policy/nano/engine.ts";
import type { Candidates } from "../../services/policy/nano/hashing.ts";
import { drawToken, scoreCandidates } from "../../services/policy/nano/sampling.ts";
import { END_OF_TURN } from "../../services/policy/nano/tokens.ts";

const PLAIN = { temperature: 1, topP: 1, topK: 0, minP: 0 };
const scoresOf = (list: readonly number[]) => Float64Array.from(list);
const tokensOf = (list: readonly unknown[]) => Int32Array.from(list.map((_, i) => 512 + i));
const someScores = fc.array(fc.double({ min: -30, max: 30, noNaN: true }), { minLength: 1, maxLength: 12 });

/** Probabilities of all tokens, by drawing with every thousandth. */
function frequencies(
  scores: readonly number[],
  sampling: typeof PLAIN,
): Map<number, { count: number; p: number }> {
  const drawn = new Map<number, { count: number; p: number }>();
  for (let i = 0; i < 1000; i++) {
    const { index, logProb } = drawToken(scoresOf(scores), tokensOf(scores), sampling, (i + 0.5) / 1000);
    drawn.set(index, { count: (drawn.get(index)?.count ?? 0) + 1, p: Math.exp(logProb) });
  }
  return drawn;
}

describe("drawing a token", () => {
  const sampling = fc.record({
    temperature: fc.double({ min: 0.2, max: 3, noNaN: true }),
    topP: fc.double({ min: 0.05, max: 1, noNaN: true }),
    topK: fc.nat(5),
    minP: fc.double({ min: 0, max: 0.5, noNaN: true }),
  });

  it("reports the probability it draws with, whatever the filters", () => {
    fc.assert(
      fc.property(someScores, sampling, (scores, chosen) => {
        for (const { count, p } of frequencies(scores, chosen).values())
          expect(Math.abs(count / 1000 - p)).toBeLessThan(0.002);
      }),
      { numRuns: 60 },
    );
  });

  it("is softmax without filters, to the bit of the trainer's formula", () => {
    fc.assert(
      fc.property(
        someScores,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (scores, uniform) => {
          const { index, logProb } = drawToken(scoresOf(scores), tokensOf(scores), PLAIN, uniform);
          const top = Math.max(...scores);
          const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
          expect(logProb).toBe(scores[index]! - (top + Math.log(total)));
        },
      ),
    );
  });

  it("keeps exactly the k likeliest under top-k", () => {
    const kept = [...frequencies([0, 3, 1, 2], { ...PLAIN, topK: 2 }).keys()].sort();
    expect(kept).toEqual([1, 3]);
  });

  it("keeps the fewest whose probabilities reach p under top-p", () => {
    const scores = [0.5, 0.3, 0.15, 0.05].map(Math.log);
    const kept = (topP: number) => frequencies(scores, { ...PLAIN, topP }).size;
    expect([0.4, 0.6, 0.9, 1].map(kept)).toEqual([1, 2, 3, 4]);
  });

  it("keeps what has min-p of the likeliest's probability", () => {
    const scores = [0.5, 0.3, 0.15, 0.05].map(Math.log);
    const kept = (minP: number) => frequencies(scores, { ...PLAIN, minP }).size;
    expect([0.05, 0.2, 0.5, 1].map(kept)).toEqual([4, 3, 2, 1]);
  });

  it("takes the likeliest at temperature 0, the lowest token among equals", () => {
    const tokens = Int32Array.from([9, 7, 8]);
    expect(drawToken(scoresOf([1, 1, 0]), tokens, { ...PLAIN, temperature: 0 }, 0.9)).toEqual({
      index: 1,
      logProb: 0,
    });
  });

  it("sums a candidate's features, and scores one without features 0", () => {
    const candidates = {
      tokens: Int32Array.from([512, 513]),
      offsets: Int32Array.from([0, 2, 2]),
      features: Int32Array.from([1, 3]),
      values: Float64Array.from([2, -1]),
    };
    expect([...scoreCandidates(candidates, Float64Array.from([0, 5, 0, 4]))]).toEqual([6, 0]);
  });
});

/** Three choices per token until a fourth token; the third choice ends the turn. What comes next depends on all before. */
function countingConversation(tokens: number[] = []): EngineConversation {
  return {
    append: (token) => void tokens.push(token),
    next: (): Candidates | null => {
      if (tokens.at(-1) === END_OF_TURN) return null;
      const sum = tokens.reduce((total, token) => (total * 31 + token) % 8, 0);
      return {
        tokens: Int32Array.from([512, 513, END_OF_TURN]),
        offsets: Int32Array.from([0, 1, 2, 3]),
        features: Int32Array.from([sum, (sum + 1) % 8, (sum + 2) % 8]),
        values: Float64Array.from([1, 1, 1]),
      };
    },
    clone: () => countingConversation([...tokens]),
    render: () => tokens.join(" "),
  };
}

describe("the engine", () => {
  const weights = Float64Array.from([0.3, -1, 0.8, 0.1, -0.4, 1.2, 0, -0.7]);
  const request = fc.record({
    prompt: fc.array(fc.nat(3), { maxLength: 6 }),
    seed: fc.nat(5),
    maxTokens: fc.nat(6),
  });

  it("replies the same with a cache of any size, in any order", () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 12 }), fc.nat(4), (requests, size) => {
        const cached = createEngine(() => countingConversation(), size);
        const fresh = () => createEngine(() => countingConversation(), 0);
        // Conversations go on from what was sampled, as a rollout's do.
        let last: readonly number[] = [];
        for (const { prompt, seed, maxTokens } of requests) {
          const full = Int32Array.from(seed % 2 === 0 ? prompt : [...last, ...prompt]);
          const one = { prompt: full, seed, maxTokens, sampling: PLAIN, weights };
          const reply = cached.complete(one);
          expect(reply).toEqual(fresh().complete(one));
          last = [...full, ...reply.tokens];
        }
      }),
    );
  });

  it("stops at the end of a turn, and says when the limit came first", () => {
    const engine = createEngine(() => countingConversation(), 8);
    for (let seed = 0; seed < 40; seed++) {
      const one = { prompt: Int32Array.from([1]), seed, maxTokens: 3, sampling: PLAIN, weights };
      const { tokens, logProbs, finish } = engine.complete(one);
      expect(logProbs).toHaveLength(tokens.length);
      expect(finish === "stop").toBe(tokens.at(-1) === END_OF_TURN);
      if (finish === "length") expect(tokens).toHaveLength(3);
    }
  });

  it("draws token t with the seed's stream of t alone", () => {
    const engine = createEngine(() => countingConversation(), 0);
    const one = { prompt: Int32Array.from([1]), seed: 3, sampling: PLAIN, weights };
    const long = engine.complete({ ...one, maxTokens: 5 });
    const first = engine.complete({ ...one, maxTokens: 1 });
    expect(first.tokens).toEqual(long.tokens.slice(0, 1));
    expect(random(3, "token", 0).next()).not.toBe(random(3, "token", 1).next());
  });
});
