/** Reproductions: which calls are proposed, in which order, and how their commands and outputs are read and written. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { node, python } from "../../services/synthesis/dialects.ts";
import { filesOf, splitTests } from "../../services/synthesis/gates/split.ts";
import { agreeing, readNotes, readTestNotes, settled } from "../../services/synthesis/recording.ts";
import { proposalsFor, quotable, readBatch } from "../../services/synthesis/reproduction.ts";

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

describe("readTestNotes", () => {
  it("gives each test its calls, under the name in the report", () => {
    const line = (test: string, code: string) => JSON.stringify({ test, calls: [{ code, printed: "1" }] });
    const notes = `${line("a", "f()")}\n${line("b", "g()")}\n${line("a", "h()")}\n{"test": "c", "ca`;
    const codes = [...readTestNotes(notes, "tests")].map(([name, calls]) => [
      name,
      calls.map(({ code }) => code),
    ]);
    expect(codes).toEqual([
      ["tests > a", ["f()", "h()"]],
      ["tests > b", ["g()"]],
    ]);
  });
});

describe("settled", () => {
  it("keeps the calls that print the same alone; one that raised prints what it prints alone", () => {
    const calls = [
      { code: "f()", printed: "1" },
      { code: "g()", printed: "2" },
      { code: "h()", printed: null },
      { code: "i()", printed: null },
    ];
    const alone = new Map([
      ["f()", "1"],
      ["g()", "3"],
      ["h()", "ValueError: no"],
    ]);
    expect([...settled(new Map([["a", calls]]), alone)]).toEqual([
      [
        "a",
        [
          { code: "f()", printed: "1" },
          { code: "h()", printed: "ValueError: no" },
        ],
      ],
    ]);
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

const run = ([program, ...args]: readonly string[]) => execFileSync(program!, args).toString();

describe("a batch of JavaScript", () => {
  it("prints each call's value or error, whatever the calls print themselves", () => {
    const calls = [
      "[1, 'a\\n']",
      "{ throw new TypeError('no\\nmore') }",
      "console.log('\\u00010 7')",
      "NaN",
      "(() => { const list = []; list[0] = list; return list })()",
    ].map((code) => (code.startsWith("{") ? `(() => ${code})()` : code));
    expect(readBatch(run(node.batch(calls)))).toEqual([
      "[ 1, 'a\\n' ]",
      "TypeError: no",
      "undefined",
      "NaN",
      "<ref *1> [ [Circular *1] ]",
    ]);
  });

  it("leaves out what comes after a call that ends the process", () => {
    expect(readBatch(run(node.batch(["1", "process.exit(0)", "3"])))).toEqual(["1"]);
  });
});

describe("a batch of Python", () => {
  it("prints each call's value or error, whatever the calls print themselves, until one ends the process", () => {
    const calls = [
      "from fractions import Fraction\nFraction('1/3')",
      "int('no\\nmore')",
      "print('\\u00010 7')",
      "[].pop()",
      "__import__('os')._exit(0)",
      "4",
    ];
    expect(readBatch(run(python.batch(calls)))).toEqual([
      "Fraction(1, 3)",
      "ValueError: invalid literal for int() with base 10: 'no\\nmore'",
      "None",
      "IndexError: pop from empty list",
    ]);
  });
});

describe("a reproduction", () => {
  it("is a command that prints one line per call, for any string as an argument", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { command } = node.reproduction([`(${JSON.stringify(text)}).length`, "null.x"]);
        const printed = quotable(execFileSync("bash", ["-c", command]), 2);
        expect(printed?.split("\n")[0]).toBe(String(text.length));
        expect(printed?.split("\n")[1]).toMatch(/^TypeError: /);
      }),
      { numRuns: 8 },
    );
  });

  it("of Python imports what its calls need, once", () => {
    const calls = ["import math\nmath.gcd(12, 18)", "import math\nmath.sqrt(-1)", "len('it\\'s')"];
    const { code, command } = python.reproduction(calls);
    expect(code.match(/^import math$/gm)).toHaveLength(1);
    expect(quotable(execFileSync("bash", ["-c", command]), 3)).toBe("6\nValueError: math domain error\n4");
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
