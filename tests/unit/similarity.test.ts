/** Sketches: equal for equal texts, close for close ones, far for others. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { random } from "../../core/random.ts";
import { SKETCH_LENGTH, sketchDistance, sketchOf } from "../../core/similarity.ts";
import { attributesOf, changedParts } from "../../services/synthesis/attributes.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import type { Candidate } from "../../services/synthesis/index.ts";

const tokens = fc.array(fc.string({ maxLength: 4 }), { maxLength: 60 });
const drawn = (seed: number, length: number, from = 500) => {
  const stream = random(seed, "similarity");
  return Array.from({ length }, () => `token${stream.integer(from)}`);
};

describe("sketchOf", () => {
  it("is a short text, the same for the same tokens", () => {
    fc.assert(
      fc.property(tokens, (list) => {
        const sketch = sketchOf(list);
        expect(sketch).toHaveLength(SKETCH_LENGTH);
        expect(sketchDistance(sketch, sketchOf([...list]))).toBe(0);
      }),
    );
  });

  it("has distances that are symmetric, at most 64, and keep to the triangle", () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, (...lists) => {
        const [a, b, c] = lists.map(sketchOf) as [string, string, string];
        expect(sketchDistance(a, b)).toBe(sketchDistance(b, a));
        expect(sketchDistance(a, b)).toBeLessThanOrEqual(64);
        expect(sketchDistance(a, c)).toBeLessThanOrEqual(sketchDistance(a, b) + sketchDistance(b, c));
      }),
    );
  });

  it("is far for unrelated lists, near for a list with one token changed", () => {
    for (let seed = 0; seed < 50; seed++) {
      const list = drawn(seed, 200);
      expect(sketchDistance(sketchOf(list), sketchOf(drawn(seed + 1000, 200)))).toBeGreaterThan(16);
      const near = list.with(100, "another");
      expect(sketchDistance(sketchOf(list), sketchOf(near))).toBeLessThan(16);
    }
  });

  it("uses every bit", () => {
    const seen = Array.from({ length: 64 }, () => new Set<string>());
    for (let seed = 0; seed < 40; seed++) {
      const sketch = sketchOf(drawn(seed, 30));
      for (let bit = 0; bit < SKETCH_LENGTH; bit++) seen[bit]!.add(sketch[bit]!);
    }
    for (const values of seen.slice(0, SKETCH_LENGTH)) expect(values.size).toBeGreaterThan(8);
  });
});

const SOURCE = `function total(values) {
  let sum = 0;
  for (const value of values) sum += value.price * value.count;
  return sum;
}

function longest(words) {
  return words.reduce((best, word) => (word.length > best.length ? word : best), "");
}
`;
/** A snapshot with the source; nobody reads what a candidate's base writes. */
const SHOP = { name: "shop", root: mkdtempSync(join(tmpdir(), "similarity-")) };
writeFileSync(join(SHOP.root, "index.js"), SOURCE);
afterAll(() => rmSync(SHOP.root, { recursive: true, force: true }));
const candidate = (from: string, to: string, source = SOURCE): Candidate => ({
  type: "bug",
  generator: "mutation",
  base: [writeText("index.js", source.replace(from, to))],
  gold: [writeText("index.js", source)],
  sites: [{ file: "index.js", functionName: "total", line: 3, operator: "arithmetic" }],
  functions: ["shop#index.js#total"],
});
const distance = (one: Candidate, other: Candidate) =>
  sketchDistance(attributesOf(SHOP, one).sketch, attributesOf(SHOP, other).sketch);

describe("attributesOf", () => {
  const plus = candidate("sum += value", "sum -= value");

  it("has the same sketch for a copy under other names, in another place", () => {
    const renamed = SOURCE.replaceAll("sum", "amount").replaceAll("value", "item").replace("total", "price");
    const moved = renamed.split("\n\n").toReversed().join("\n\n");
    expect(distance(plus, candidate("amount += item", "amount -= item", moved))).toBe(0);
  });

  it("tells changes of different functions far apart, changes of one function not", () => {
    const other = candidate("word.length > best", "word.length < best");
    expect(distance(plus, other)).toBeGreaterThan(16);
    expect(distance(plus, candidate("price * value", "price / value"))).toBeLessThan(distance(plus, other));
  });

  it("names files with their environment, operators once, and the commit or task it comes from", () => {
    expect(attributesOf(SHOP, plus)).toMatchObject({
      ...{ files: ["shop#index.js"], operators: ["arithmetic"], lineage: null },
    });
    const commit = { repository: "r", sha: "abc", parent: "def" };
    expect(attributesOf(SHOP, { ...plus, origin: { commit } }).lineage).toBe("commit abc");
    const revises = { task: "t1", action: "harden", round: 1 };
    expect(attributesOf(SHOP, { ...plus, origin: { commit, revises } }).lineage).toBe("task t1");
  });
});

describe("changedParts", () => {
  it("is the functions that hold the change", () => {
    const [before, after] = changedParts("index.js", SOURCE, SOURCE.replace("price *", "price /"));
    expect(before).toContain("function total");
    expect(before).not.toContain("longest");
    expect(after).toBe(before.replace("price *", "price /"));
  });

  it("is the lines themselves outside of functions and in files of no known language", () => {
    expect(changedParts("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n")).toEqual(["two", "2"]);
    expect(changedParts("a.txt", "", "new\n")).toEqual(["", "new\n"]);
  });
});
