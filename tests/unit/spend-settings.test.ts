/** Budgets and prices of an experiment's file: what cannot be met is refused before anything is paid. */
import { describe, expect, it } from "vitest";
import { amendmentRefusal } from "../../core/amendments.ts";
import { parseExperimentFile } from "../../core/schemas/index.ts";

const file = (...lines: readonly string[]) =>
  [
    "policy: { kind: openai, baseUrl: 'http://127.0.0.1:1', model: small }",
    "environments: { train: [a] }",
    "selection: { set: { environments: [a], tasks: 4 } }",
    "evaluation: { sets: { unseen: { environments: [b], tasks: 4 } } }",
    ...lines,
  ].join("\n");
const read = (...lines: readonly string[]) => parseExperimentFile(file(...lines), "x.yaml");

const AUTHOR = "synthesis: { author: { baseUrl: 'http://127.0.0.1:2', model: org/writer-1.5 } }";
const SMALL = "small: { prompt: 1, generated: 2 }";
const WRITER = "org/writer-1.5: { prompt: 1, generated: 2 }";

describe("a budget", () => {
  it.each([
    ["budget: { usd: 0 }", "budget.usd: expected a number above 0, found 0"],
    ["budget: { sandboxHours: 0 }", "budget.sandboxHours: expected a number above 0, found 0"],
    ["budget: { authorTokens: 0 }", "budget.authorTokens: expected a number of at least 1, found 0"],
    ["budget: { dollars: 5 }", "budget.dollars: unknown key; expected"],
  ])("%s is refused", (line, message) => {
    expect(() => read(line)).toThrow(message);
  });

  it("in dollars needs the prices of what it is spent on", () => {
    const usd = "budget: { usd: 5 }";
    const ofPolicy =
      "prices.small: expected the prices of prompt and generated tokens of policy.model, as budget.usd is set";
    expect(() => read(usd)).toThrow(ofPolicy);
    expect(() => read(usd, "prices: { small: { prompt: 1 } }")).toThrow(ofPolicy);
    expect(() => read(usd, AUTHOR, `prices: { ${SMALL} }`)).toThrow(
      "prices.org/writer-1.5: expected the prices of prompt and generated tokens of synthesis.author.model, as budget.usd is set",
    );
    expect(read(usd, AUTHOR, `prices: { ${SMALL}, ${WRITER} }`).budget.usd).toBe(5);
    expect(read("budget: { authorTokens: 5, sandboxHours: 1 }", AUTHOR).prices).toEqual({});
  });

  it("is not asked to price the stack's own server", () => {
    const own = file("budget: { usd: 5 }").replace(
      "openai, baseUrl: 'http://127.0.0.1:1', model: small",
      "nano",
    );
    expect(parseExperimentFile(own, "x.yaml").budget.usd).toBe(5);
  });

  it("may be given to a run that had none, in dollars where there are prices", () => {
    const amend = (path: string, value: number, settings = read()) =>
      amendmentRefusal(
        { settings, amendments: [] },
        { request: "r", path, value },
        { iteration: 1, pinned: 1 },
      );
    expect(amend("budget.sandboxHours", 0.5)).toBeNull();
    expect(amend("budget.usd", 1, read(`prices: { ${SMALL} }`))).toBeNull();
    expect(amend("budget.usd", 1)).toContain("prices.small: expected the prices");
    expect(amend("budget.usd", 0)).toBe("budget.usd: expected a number above 0");
    // As an experiment of an earlier version is on record.
    const { budget: _, prices: __, ...earlier } = read();
    expect(amend("budget.authorTokens", 9, earlier as never)).toBeNull();
  });
});

describe("a price table", () => {
  it("must have the author's model, and says nothing where it prices sandboxes alone", () => {
    expect(() => read(AUTHOR, `prices: { ${SMALL} }`)).toThrow(
      "prices.org/writer-1.5: expected the prices of prompt and generated tokens of synthesis.author.model",
    );
    expect(read(AUTHOR, `prices: { ${WRITER} }`).prices).toHaveProperty("org/writer-1.5");
    expect(read(AUTHOR, "prices: { sandbox-hour: { perHour: 0.1 } }").prices).toHaveProperty("sandbox-hour");
    expect(() => read("prices: { small: { prompt: -1 } }")).toThrow(
      "prices.small.prompt: expected a number of at least 0, found -1",
    );
  });
});
