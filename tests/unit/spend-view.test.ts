/** What `tadpole cost` prints: nothing that was not counted is a 0, nothing that is not known is left out. */
import { describe, expect, it } from "vitest";
import { costText } from "../../apps/cli/cost-view.ts";
import { costOf } from "../../apps/control/cost.ts";
import { type CostEntry, NO_COST } from "../../core/cost.ts";
import { NO_TOKENS } from "../../core/spend.ts";

const part = { ...NO_COST, phase: "climb", iteration: 1, generator: "mutation", task: null } as const;
const ENTRIES: readonly CostEntry[] = [
  {
    ...part,
    phase: "synthesise",
    generator: "llm",
    requests: 2,
    tokens: { ...NO_TOKENS, prompt: 1500, text: 20 },
    usd: 0.0412,
    openRequests: 1,
    openTokens: 900,
    openUsd: 0.04,
  },
  { ...part, iteration: 0, phase: "evaluate", rollouts: 3, uncountedRollouts: 3 },
  {
    ...part,
    rollouts: 4,
    tokens: { ...NO_TOKENS, toolCalls: 70 },
    lostTokens: 7,
    sandboxSeconds: 90,
    unpricedSeconds: 90,
    unpricedTokens: 70,
  },
];
const text = (by: "phase" | "generator") =>
  costText(
    costOf("demo", by, {
      entries: ENTRIES,
      yields: [{ generator: "llm", candidates: 5, valid: 2, admitted: 1 }],
      updates: 2,
      attempts: { failed: 3, superseded: 1, open: 0 },
      settings: {
        budget: { usd: 5, authorTokens: null, sandboxHours: 2 },
        prices: {},
        policyModel: "nano",
      },
    }),
  ).split("\n");

/** The cells of a line of a table. */
const cells = (lines: readonly string[], name: string) =>
  lines
    .find((line) => line.startsWith(`${name} `))!
    .split(/ {2,}/)
    .slice(1);

describe("the text of what an experiment cost", () => {
  it("has a line for each group and their sum, and tells what was not counted from what was nothing", () => {
    const lines = text("phase");
    expect(cells(lines, "synthesise")).toEqual(["2", "0", "1,500", "0", "0", "20", "0", "0.0 s", "0.0412"]);
    expect(cells(lines, "evaluate").slice(1, 4)).toEqual(["3", "not counted", "not counted"]);
    expect(cells(lines, "climb").slice(-3)).toEqual(["70", "1 min 30 s", "–"]);
    expect(cells(lines, "total").slice(0, 2)).toEqual(["2", "7"]);
  });

  it("tells what has no price, no known outcome, came to nothing or was not counted", () => {
    const lines = text("phase");
    for (const line of [
      "without a price: 70 tokens, 1 min 30 s of sandboxes",
      "1 requests whose outcome is not known: up to 900 tokens, 0.04 US dollars, which count as spent",
      "7 tokens of turns that nobody went on from, or has yet: they are in the table",
      "3 attempts failed and 1 were superseded: turns that were cut half way are in no count",
      "3 rollouts of an earlier version were not counted",
      "budget: 5.00 US dollars, 2 h of sandboxes",
      "by admitted task: 0.0412 US dollars, 2,420 tokens, 0.0 s of sandboxes (1)",
      "by update: no price, 35 tokens, 45 s of sandboxes (2)",
      "all that was begun is counted, with what a pool that was full no longer read: tadpole pool counts what was read",
    ])
      expect(lines).toContain(line);
    expect(cells(text("generator"), "mutation").slice(0, 2)).toEqual(["0", "7"]);
  });
});
