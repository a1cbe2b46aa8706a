/** Reproductions: which calls are proposed, in which order, and how their commands and outputs are read and written. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filesOf, splitTests } from "../../services/synthesis/gates/split.ts";
import { agreeing, readNotes } from "../../services/synthesis/recording.ts";
import {
  batchScript,
  proposalsFor,
  quotable,
  readBatch,
  reproductionOf,
} from "../../services/synthesis/reproduction.ts";

describe("readNotes", () => {
  it("gives each assertion the calls before it, and assertions in a row the same ones", () => {
    const call = (code: string) => ({ code, printed: "1" });
    const notes = [
      { assert: 1, ok: true, calls: [call("f(1)")] },
      { assert: 2, ok: true, calls: "same" },
      { assert: 3, ok: true, calls: [] },
    ];
    const text = `${notes.map((note) => JSON.stringify(note)).join("\n")}\n{"assert":4,"o`;
    expect([...readNotes(text, ["a", "b", "c"])]).toEqual([
      ["a", [call("f(1)")]],
      ["b", [call("f(1)")]],
      ["c", []],
    ]);
  });
});

describe("agreeing", () => {
  it("drops the calls of a test that draws its inputs at random", () => {
    const once = new Map([
      [
        "a",
        [
          { code: "f(0.3)", printed: "1" },
          { code: "f(2)", printed: "2" },
        ],
      ],
    ]);
    const twice = new Map([
      [
        "a",
        [
          { code: "f(0.7)", printed: "1" },
          { code: "f(2)", printed: "2" },
        ],
      ],
    ]);
    expect([...agreeing(once, twice)]).toEqual([["a", [{ code: "f(2)", printed: "2" }]]]);
  });
});

describe("proposalsFor", () => {
  const recording = new Map([
    ["a", [{ code: "f(1000)", printed: "1" }]],
    [
      "b",
      [
        { code: "f(2)", printed: "2" },
        { code: "next()", printed: "1" },
      ],
    ],
    ["c", [{ code: "next()", printed: "2" }]],
    ["d", [{ code: "f(1)", printed: "3" }]],
  ]);
  it("are the failing assertions' calls, shortest first, without those that printed different things", () => {
    const proposed = proposalsFor([recording], ["a", "b", "c"]);
    expect(proposed.map(({ call, assertion }) => [call.code, assertion])).toEqual([
      ["f(2)", "b"],
      ["f(1000)", "a"],
    ]);
  });
});

describe("batchScript", () => {
  it("prints each call's value or error, whatever the calls print themselves", () => {
    const calls = [
      "[1, 'a\\n']",
      "{ throw new TypeError('no\\nmore') }",
      "console.log('\\u00010 7')",
      "NaN",
      "(() => { const list = []; list[0] = list; return list })()",
    ].map((code) => (code.startsWith("{") ? `(() => ${code})()` : code));
    const out = execFileSync(process.execPath, ["-e", batchScript(calls)]).toString();
    expect(readBatch(out)).toEqual([
      "[ 1, 'a\\n' ]",
      "TypeError: no",
      "undefined",
      "NaN",
      "<ref *1> [ [Circular *1] ]",
    ]);
  });

  it("leaves out what comes after a call that ends the process", () => {
    const out = execFileSync(process.execPath, ["-e", batchScript(["1", "process.exit(0)", "3"])]).toString();
    expect(readBatch(out)).toEqual(["1"]);
  });
});

describe("reproductionOf", () => {
  it("is a command that prints one line per call, for any string as an argument", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { command } = reproductionOf([`(${JSON.stringify(text)}).length`, "null.x"]);
        const printed = quotable(execFileSync("bash", ["-c", command]), 2);
        expect(printed?.split("\n")[0]).toBe(String(text.length));
        expect(printed?.split("\n")[1]).toMatch(/^TypeError: /);
      }),
      { numRuns: 8 },
    );
  });
});

describe("quotable", () => {
  it("refuses other than the expected number of lines, control characters and floods", () => {
    const of = (text: string, lines = 1) => quotable(Buffer.from(text), lines);
    expect(of("{ a: 1 }\n")).toBe("{ a: 1 }");
    expect(of("a\nb\n")).toBeNull();
    expect(of("a\nb\n", 2)).toBe("a\nb");
    expect(of("\u001b[31mred\n")).toBeNull();
    expect(of("x".repeat(5000))).toBeNull();
  });
});

describe("splitTests", () => {
  it("takes what passed untouched: broken tests to fix, the others to keep, an absent one counts as broken", () => {
    const baseline = {
      "t > a > x#1": "passed",
      "t > a > y#1": "passed",
      "t > b > z#1": "failed",
      "u > c > v#1": "passed",
      "u > c > w#1": "passed",
    } as const;
    const split = splitTests(baseline, { "t > a > x#1": "passed", "u > c > v#1": "failed" }, ["u > c > w#1"]);
    expect(split).toEqual({ failToPass: ["t > a > y#1", "u > c > v#1"], passToPass: ["t > a > x#1"] });
    expect(filesOf(["t", "u", "w"], split.failToPass)).toEqual(["t", "u"]);
  });
});
