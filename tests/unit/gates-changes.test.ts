/** What the gates make of a change: its hunks, what of it shows, another way to write it, what a gold breaks, how many repeats exclude a flake rate. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flakeBound } from "../../services/environments/index.ts";
import { alternativeOf } from "../../services/synthesis/gates/alternatives.ts";
import { applyHunks, hunksOf, isObservable } from "../../services/synthesis/gates/hunks.ts";
import { brokenBy } from "../../services/synthesis/gates/split.ts";
import { runsAgainst } from "../../services/synthesis/gates/stability.ts";

describe("hunks", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 12 })
    .map((lines) => lines.join("\n"));

  it("make the new text of the old one, all together and in any order", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const hunks = hunksOf("f.js", before, after);
        expect(applyHunks(before, hunks)).toBe(after);
        expect(applyHunks(before, [...hunks].reverse())).toBe(after);
        expect(hunks.length > 0).toBe(before !== after);
      }),
    );
  });

  it("are apart where a line between them stays", () => {
    const hunks = hunksOf("f.js", "a\nb\nc\nd", "a\nB\nc\nD\ne");
    expect(hunks).toEqual([
      { path: "f.js", start: 1, end: 2, lines: ["B"] },
      { path: "f.js", start: 3, end: 4, lines: ["D", "e"] },
    ]);
    expect(applyHunks("a\nb\nc\nd", [hunks[0]!])).toBe("a\nB\nc\nd");
  });

  it.each([
    ["a.js", "x = 1;", "x = 2;", true],
    ["a.js", "// one", "// two", false],
    ["a.js", "x = 1;", "x  =  1;", false],
    ["a.py", "x = 1", "  x = 1", true],
    ["a.py", "# one", "# two", false],
    ["README.md", "one", "two", false],
  ])("in %s, %s → %s can be told by a test: %s", (path, before, after, expected) => {
    expect(isObservable(before, hunksOf(path, before, after)[0]!)).toBe(expected);
  });
});

describe("an alternative", () => {
  const alternative = (path: string, text: string, added: string) => alternativeOf(path, text, [added])?.text;

  it("renames a local variable everywhere, in each language", () => {
    const js = "function f(a) {\n  const sum = a + 1;\n  return sum * sum;\n}\n";
    expect(alternative("a.js", js, "  const sum = a + 1;")).toBe(js.replaceAll("sum", "sumValue"));
    const py = "def f(a):\n    total = a + 1\n    return total * total\n";
    expect(alternative("a.py", py, "    total = a + 1")).toBe(py.replaceAll("total", "totalValue"));
    const go = "package p\n\nfunc f(a int) int {\n\ttotal := a + 1\n\treturn total\n}\n";
    expect(alternative("a.go", go, "\ttotal := a + 1")).toBe(go.replaceAll("total", "totalValue"));
  });

  it.each([
    ["a property", "  const sum = a;\n  return { sum, b: o.sum };"],
    ["a key", "  const sum = a;\n  return { sum: sum };"],
    ["a word of a string", "  const sum = a;\n  return 'sum' + sum;"],
    ["a parameter elsewhere", "  const sum = a;\n  return list.map((sum) => sum);"],
  ])("does not rename what is also %s", (_, body) => {
    expect(alternative("a.js", `function f(a) {\n${body}\n}\n`, "  const sum = a;")).toBeUndefined();
  });

  it("exchanges the sides of an equality, and of nothing that binds tighter", () => {
    const swapped = (line: string) =>
      alternative("a.js", `function f(a, b) {\n${line}\n}\n`, line)?.split("\n")[1];
    expect(swapped("  if (a === 'x') { return b; }")).toBe("  if ('x' === a) { return b; }");
    expect(swapped("  return a !== b && a;")).toBe("  return b !== a && a;");
    expect(swapped("  return 1 + a === b;")).toBeUndefined();
    expect(swapped("  return a === b + 1;")).toBeUndefined();
    expect(swapped("  return a < b;")).toBeUndefined();
  });
});

describe("what a gold breaks", () => {
  const runs = { baseline: {}, unstable: [], base: {}, solved: {} };

  it("is what passed on the base tree or in the environment, and what it brings and fails itself", () => {
    expect(
      brokenBy({
        baseline: { kept: "passed", lost: "passed", never: "failed", shaky: "passed" },
        unstable: ["shaky"],
        base: { kept: "passed", lost: "failed", never: "failed", gone: "passed", own: "failed" },
        solved: { kept: "passed", lost: "failed", never: "failed", own: "failed", shaky: "failed" },
      }),
    ).toEqual(["lost", "gone", "own"]);
  });

  it("is nothing where a new test is skipped", () => {
    expect(brokenBy({ ...runs, solved: { own: "skipped" } })).toEqual([]);
  });
});

describe("repeats against a flake rate", () => {
  it("are the fewest that exclude it at 95 %", () => {
    expect([0.95, 0.39, 0.1, 0.01].map(runsAgainst)).toEqual([1, 7, 29, 299]);
    expect(runsAgainst(0.3935)).toBe(6);
    // A rate that is the bound itself is excluded.
    expect([1, 6, 29].map((runs) => runsAgainst(flakeBound(runs)))).toEqual([1, 6, 29]);
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 0.9, noNaN: true }), (rate) => {
        const runs = runsAgainst(rate);
        expect(flakeBound(runs)).toBeLessThanOrEqual(rate);
        expect(runs === 1 || flakeBound(runs - 1) > rate).toBe(true);
      }),
    );
  });
});
