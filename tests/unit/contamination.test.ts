/** Runs of 13 words that a task shares with a benchmark. */
import { describe, expect, it } from "vitest";
import { writeText } from "../../services/synthesis/changes.ts";
import {
  contaminated,
  indexBenchmark,
  openBenchmark,
  ownTexts,
} from "../../services/synthesis/contamination.ts";

const words = (from: number, count: number) => Array.from({ length: count }, (_, i) => `word${from + i}`);
const benchmark = async (...texts: string[]) => openBenchmark(await indexBenchmark("bench.jsonl", texts));
const text = (of: readonly string[]) => [{ part: "the text", text: of.join(" ") }];

describe("contaminated", () => {
  it("refuses 13 words in a row, whatever stands between them and however they are written", async () => {
    const known = await benchmark("something else", words(0, 40).join(" "));
    const shared = words(10, 13).map((word) => word.toUpperCase());
    const verdict = contaminated([{ part: "the text", text: `So: ${shared.join(",\n  ")}!` }], [known]);
    expect(verdict).toMatchObject({ passed: false });
    expect(verdict.evidence).toBe(`the text shares 13 words with bench.jsonl: ${words(10, 13).join(" ")}`);
  });

  it("lets 12 words in a row pass, and runs that go from one text of the benchmark to the next", async () => {
    const known = await benchmark(words(0, 20).join(" "), words(20, 20).join(" "));
    const twelve = [...words(0, 12), "other", ...words(12, 8)];
    expect(contaminated(text(twelve), [known]).passed).toBe(true);
    expect(contaminated(text(words(14, 13)), [known]).passed).toBe(true);
    expect(contaminated(text(words(0, 13)), [known]).passed).toBe(false);
  });

  it("does not take a row of numbers for a text", async () => {
    const numbers = Array.from({ length: 30 }, (_, i) => String(i));
    expect(contaminated(text(numbers), [await benchmark(numbers.join(", "))]).passed).toBe(true);
  });

  it("takes a run for a text from seven words with letters on", async () => {
    const run = (lettered: number) =>
      Array.from({ length: 13 }, (_, i) => (i < lettered ? `word${i}` : String(i)));
    for (const [lettered, passed] of [
      [6, true],
      [7, false],
    ] as const)
      expect(contaminated(text(run(lettered)), [await benchmark(run(lettered).join(" "))]).passed).toBe(
        passed,
      );
  });

  it("gives the same file for the same texts in any order", async () => {
    const texts = [words(0, 20).join(" "), words(50, 30).join(" ")];
    expect(await indexBenchmark("b", texts.toReversed())).toEqual(await indexBenchmark("b", texts));
  });
});

describe("ownTexts", () => {
  it("is the words, the lines that the solution adds, and the tests that come with it", () => {
    const own = ownTexts(
      {
        text: { title: "T", body: "B", contract: "C" },
        gold: [writeText("a.js", "one\nthree\n")],
        tests: [writeText("t.js", "test")],
      },
      (path) => (path === "a.js" ? "one\ntwo\n" : ""),
    );
    expect(own).toEqual([
      { part: "the text", text: "T\nB\nC" },
      { part: "the solution", text: "three" },
      { part: "a hidden test", text: "test" },
    ]);
  });
});
