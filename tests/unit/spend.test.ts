/** Money and tokens: prices, bounds, and which class a generated token is of. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  exhausted,
  formatUsd,
  NO_TOKENS,
  sumUsd,
  type TokenCounts,
  usdOfSeconds,
  usdOfTokens,
} from "../../core/spend.ts";
import { countTurn, sumTokens } from "../../services/harness/tokens.ts";
import { createNanoTemplate } from "../../services/policy/index.ts";
import { completionOf, saidBy } from "../../services/policy/reply.ts";

const count = fc.integer({ min: 0, max: 5_000_000 });
const tokens: fc.Arbitrary<TokenCounts> = fc.record({
  prompt: count,
  cached: count,
  reasoning: count,
  text: count,
  toolCalls: count,
});
const USAGE = { usd: 0, reservedUsd: 0, authorTokens: 0, reservedTokens: 0, sandboxHours: 0 };
const NO_BOUND = { usd: null, authorTokens: null, sandboxHours: null };

describe("money", () => {
  it("is to the cent what the price table says, whatever is added first", () => {
    // A cent by a million tokens, counted in whole cents.
    const price = { prompt: 0.07, cached: 0.01, generated: 0.29 };
    fc.assert(
      fc.property(fc.array(tokens, { maxLength: 40 }), (turns) => {
        const amounts = turns.map((turn) => usdOfTokens(turn, price)!);
        const exact = turns.reduce(
          (sum, turn) =>
            sum + turn.prompt * 7 + turn.cached + (turn.reasoning + turn.text + turn.toolCalls) * 29,
          0,
        );
        expect(sumUsd(amounts)).toBeCloseTo(exact / 1e8, 6);
        expect(sumUsd(amounts)).toBe(sumUsd([...amounts].reverse()));
        expect(sumUsd([sumUsd(amounts.slice(0, 7)), sumUsd(amounts.slice(7))])).toBe(sumUsd(amounts));
      }),
    );
  });

  it("takes the price of the prompt where there is none of cached tokens", () => {
    const turn = { ...NO_TOKENS, prompt: 1_000_000, cached: 1_000_000 };
    expect(usdOfTokens(turn, { prompt: 2, generated: 0 })).toBe(4);
    expect(usdOfTokens(turn, { prompt: 2, cached: 0.5, generated: 0 })).toBe(2.5);
  });

  it("is null, not nothing, where there is no price", () => {
    expect(usdOfTokens(NO_TOKENS, undefined)).toBeNull();
    expect(usdOfTokens(NO_TOKENS, { perHour: 1 })).toBeNull();
    expect(usdOfSeconds(1, { prompt: 1, generated: 1 })).toBeNull();
    expect(usdOfSeconds(900, { perHour: 0.4 })).toBe(0.1);
  });

  it("is written with its cents, and with more where there is more", () => {
    expect([5, 0.1, 4.998, 0.000001, 1234.5].map(formatUsd)).toEqual([
      "5.00",
      "0.10",
      "4.998",
      "0.000001",
      "1234.50",
    ]);
  });
});

describe("a budget", () => {
  it("names the bound that is reached, with what was spent of it", () => {
    const usage = { ...USAGE, usd: 5, sandboxHours: 2 };
    expect(exhausted({ ...NO_BOUND, usd: 5 }, usage)).toBe("budget.usd: 5.00 of 5.00 spent");
    expect(exhausted({ ...NO_BOUND, sandboxHours: 1.5 }, usage)).toBe(
      "budget.sandboxHours: 2.00 of 1.50 spent",
    );
    expect(exhausted({ ...NO_BOUND, usd: 5.01 }, usage)).toBeNull();
    expect(exhausted(NO_BOUND, usage)).toBeNull();
  });

  it("of the author's tokens stops the author alone", () => {
    const usage = { ...USAGE, authorTokens: 10 };
    const budget = { ...NO_BOUND, authorTokens: 10 };
    expect(exhausted(budget, usage)).toBeNull();
    expect(exhausted(budget, usage, { usd: 0, authorTokens: 1 })).toContain("budget.authorTokens: 10 of 10");
  });
});

describe("the tokens of a turn", () => {
  const { spans } = createNanoTemplate();
  const call = '<tool_call>{"name": "Glob", "arguments": {"pattern": "</think>"}}</tool_call>';
  const usage = (promptTokens: number) => ({ promptTokens, completionTokens: 0 });
  const turn = (text: string, offsets: readonly number[], prompt = 10, known = 0) =>
    countTurn({ tokens: offsets, text, offsets, usage: usage(prompt) }, spans(text), known);

  it("are of the class of the text they begin in", () => {
    const text = `<think>hm</think>so${call}`;
    const at = [0, 7, 9, 17, 18, 19, text.indexOf("Glob"), text.length];
    expect(turn(text, at)).toMatchObject({ reasoning: 3, text: 2, toolCalls: 3 });
  });

  it("are reasoning up to a closing tag whose opening one was in the prompt, and all that a thought that was cut holds", () => {
    expect(turn("hm</think>so", [0, 2, 10])).toMatchObject({ reasoning: 2, text: 1 });
    expect(turn("<think>hm and", [0, 7, 10])).toMatchObject({ reasoning: 3, text: 0 });
    expect(turn(`${call}so`, [0, call.length])).toMatchObject({ reasoning: 0, text: 1, toolCalls: 1 });
  });

  it("are shared by length where the server does not say where each begins, and add up to what was sampled", () => {
    const part = fc.constantFrom("<think>", "</think>", "<tool_call>", call, "some text ", "\n");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.nat(50), (parts, length) => {
        const text = parts.join("");
        const counted = countTurn(
          { tokens: new Array<number>(length).fill(1), text, usage: usage(9) },
          spans(text),
          4,
        );
        expect(counted.reasoning + counted.text + counted.toolCalls).toBe(length);
        expect(spans(text).reduce((sum, span) => sum + span.length, 0)).toBe(text.length);
        expect(counted).toMatchObject({ prompt: 5, cached: 4 });
      }),
    );
    const even = countTurn(
      { tokens: [1, 1, 1, 1], text: `${"x".repeat(call.length)}${call}`, usage: usage(1) },
      spans(`${"x".repeat(call.length)}${call}`),
      0,
    );
    expect(even).toMatchObject({ text: 2, toolCalls: 2 });
  });

  it("are cached where the server says so, else as far as the last turn's prompt and reply go", () => {
    const reply = (extra: object) => ({
      choices: [
        {
          text: "ab",
          finish_reason: "stop",
          token_ids: [1, 2],
          logprobs: { token_logprobs: [0, 0], ...extra },
        },
      ],
    });
    const asked = {
      policy: "p",
      prompt: [1, 2, 3, 4],
      maxTokens: 5,
      sampling: { temperature: 1, topP: 1, topK: 0, minP: 0 },
      seed: 1,
    };
    const told = {
      ...reply({ text_offset: [7, 8] }),
      usage: { prompt_tokens_details: { cached_tokens: 3 } },
    };
    const said = completionOf(saidBy(told), asked, "p");
    expect(said).toMatchObject({ offsets: [0, 1], usage: { cachedTokens: 3 } });
    expect(countTurn(said, spans("ab"), 1)).toEqual({ ...NO_TOKENS, prompt: 1, cached: 3, text: 2 });
    const silent = completionOf(saidBy(reply({ text_offset: [0, 99] })), asked, "p");
    expect(silent).not.toHaveProperty("offsets");
    expect(countTurn(silent, spans("ab"), 1)).toMatchObject({ prompt: 3, cached: 1 });
  });

  it("of a rollout are not counted where one turn's are not", () => {
    const one = { ...NO_TOKENS, prompt: 1 };
    expect(sumTokens([one, one])).toEqual({ ...NO_TOKENS, prompt: 2 });
    expect(sumTokens([one, undefined])).toBeNull();
  });
});
