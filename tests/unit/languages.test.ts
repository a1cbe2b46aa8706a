/** Languages by their grammars: every edit parses and can be undone, in an order that never changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyEdit, type Language, languageOf, normalisedTokens } from "../../services/languages/index.ts";

const TYPESCRIPT = `import { readFileSync } from "node:fs";
export interface Options { readonly limit: number; kind?: "a" | "b" }
enum Level { Low = 1 }
const word = /^[^a-z]+\\d$/i;
export class Reader<T extends object> {
  private limit = 10;
  constructor(private readonly options: Options, fallback: number | undefined) {
    this.limit = fallback ?? options.limit;
  }
  public pick(list: readonly string[], from: number, until = 5): string | undefined {
    let found = "a", other = "a", step = 0;
    for (let i = from; i < until; i++) {
      if (!list[i] || typeof list[i] !== "string") continue;
      if (word.test(list[i]!) && i >= step) break;
      found += other === "a" ? "b" : "a";
      step -= i * 2;
    }
    this.note(found, other);
    return list.slice(from, until).length === 0 ? undefined : (found as string);
  }
  note(first: string, second: string): boolean { return first === second && true; }
}
export const make = (options: Options): Reader<Options> => new Reader(options, Level.Low);
`;

const PYTHON = `"""Docs."""
import re

LIMIT, STEP = 10, 2
WORD = re.compile(r"^[^a-z]+\\d$")

class Reader(Base):
    """More docs."""

    kind = "a"

    def __init__(self, limit: int = LIMIT, strict=True, other=None):
        self.limit = limit
        self.strict = strict

    def pick(self, values, start, stop):
        """Picks."""
        found = ["a" for value in values[start:stop] if value is not None]
        for index, value in enumerate(values[1:]):
            if not value or value in found and index >= start:
                continue
            if value == found or (WORD.match(value) and index < stop):
                break
            found.append("b" if value == "a" else "a")
            stop += index * 2
        else:
            raise ValueError("none")
        try:
            return self.note(found, stop)
        except (KeyError, IndexError) as error:
            raise error

    def note(self, first, second):
        return first == second

first = lambda values, size: values[:size]
`;

const GO = `package reader

import (
	"errors"
	"regexp"
)

const limit = 10

var word = regexp.MustCompile(\`^[^a-z]+\\d$\`)

// Reader reads.
type Reader struct {
	kind string
	size int
}

func (r *Reader) Pick(list []string, from, until int) (found string, err error) {
	step, other, done := 0, "a", false
	if from > until || !done {
		return "", errors.New("bounds")
	}
	for i := from; i < until; i++ {
		if list[i] == "a" && i >= step {
			continue
		}
		if word.MatchString(list[i]) {
			break
		}
		step += i * 2
		note(other, list[i])
		done = true
	}
	value, err := r.next(list[from:], step+1)
	if err != nil {
		return value, err
	}
	if same(value, other) == done {
		other = value
	}
	return other, nil
}

func (r *Reader) next(rest []string, size int) (string, error) {
	return rest[len(rest)-size], nil
}

func note(first, second string) {}

func same(first, second string) bool {
	if first == "" {
		return empty(second)
	}
	return first == second
}
`;

const SAMPLES: readonly (readonly [string, string])[] = [
  ["a.ts", TYPESCRIPT],
  ["a.tsx", `${TYPESCRIPT}export const view = (name: string) => <b title="x">{name ? "a" : "b"}</b>;\n`],
  ["a.py", PYTHON],
  ["a.go", GO],
];
const language = (file: string): Language => languageOf(file)!;

/** Edits as (operator, old text, new text). */
function editsOf(file: string, text: string): string[] {
  return language(file)
    .edits(text)
    .map(
      ({ operator, start, end, replacement }) => `${operator}: ${text.slice(start, end)} -> ${replacement}`,
    );
}

describe.each(SAMPLES)("edits of %s", (file, sample) => {
  const { edits, operators, parses } = language(file);

  it("are offered by every operator of the language", () => {
    expect([...new Set(edits(sample).map(({ operator }) => operator))].sort()).toEqual([...operators].sort());
  });

  it("are sorted by place, operator and replacement, without duplicates", () => {
    const listed = edits(sample);
    const order = [...listed].sort(
      (a, b) =>
        a.start - b.start ||
        a.end - b.end ||
        operators.indexOf(a.operator) - operators.indexOf(b.operator) ||
        (a.replacement < b.replacement ? -1 : 1),
    );
    expect(listed).toEqual(order);
    expect(new Set(listed.map((edit) => applyEdit(sample, edit))).size).toBe(listed.length);
  });

  it("each leave a text that parses, which another edit brings back", () => {
    const listed = edits(sample);
    fc.assert(
      fc.property(fc.nat(listed.length - 1), (n) => {
        const edited = applyEdit(sample, listed[n]!);
        expect(edited).not.toBe(sample);
        expect(parses(edited)).toBe(true);
        if (listed[n]!.operator === "dropped-statement") return;
        expect(edits(edited).some((undo) => applyEdit(edited, undo) === sample)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("stay so after many edits on top of each other", () => {
    let text = sample;
    for (let n = 7; n < 60; n += 7) {
      const listed = edits(text);
      text = applyEdit(text, listed[(n * 31) % listed.length]!);
      expect(parses(text)).toBe(true);
    }
  });

  it("are taken from any text at all", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (text) => {
        for (const edit of edits(text)) expect(parses(applyEdit(text, edit))).toBe(true);
        expect(language(file).functions(text)[0]!.name).toBe("<module>");
      }),
      { numRuns: 40 },
    );
    expect(parses("f(")).toBe(false);
    expect(edits("f(")).toEqual([]);
  });
});

describe("edits", () => {
  it.each([
    ["a.py", "x = a[1:n]", ["slice-bound: n -> ", "slice-bound:  ->  + 1", "slice-bound:  ->  - 1"].slice(1)],
    ["a.py", "x = a[n:]", ["slice-bound: n: -> :n"]],
    ["a.py", "x = a is None", ["identity: is -> is not"]],
    ["a.py", "x = a == b", ["identity: == -> is", "equality: == -> !="]],
    ["a.py", "x = a in b", ["membership: in -> not in"]],
    ["a.py", "def f(a=None): pass", ["keyword-default: None -> True", "keyword-default: None -> False"]],
    [
      "a.py",
      "raise KeyError(a)",
      ["exception-type: KeyError -> IndexError", "dropped-statement: raise KeyError(a) -> pass"],
    ],
    ["a.py", "def f(a, b, c): return b", ["variable: b -> a", "variable: b -> c", "return:  -> not "]],
    ["a.ts", "x = a ?? b;", ["nullish: ?? -> ||"]],
    ["a.ts", "function f(a: A, b: B) { return a; }", ["variable: a -> b", "return:  -> !"]],
    ["a.go", "package a\nfunc f(a, b string) string { return a }", ["variable: a -> b"]],
    ["a.go", "package a\nfunc f(a error) bool { return a == nil }", ["nil-check: == -> !="]],
  ])("in %s: %s", (file, text, expected) => {
    expect(editsOf(file, text)).toEqual(expect.arrayContaining(expected));
  });

  it.each([
    ["a.py", "if not(a): pass"],
    ["a.py", "def f(a): return not(a)"],
  ])("put no second sign before one that they could not take away: %s %s", (file, text) => {
    expect(editsOf(file, text).filter((edit) => edit.endsWith(" -> not "))).toEqual([]);
    expect(editsOf(file, text.replace("not", "nothing"))).toContainEqual(expect.stringMatching(/ -> not $/));
  });

  it.each([
    ["a type", "a.ts", "let a: 1 | true | 'x' = b; let c: 'x' = b;"],
    ["an enumeration", "a.ts", "enum E { A = 1, B = 'x', C = 'x' }"],
    ["a name that is declared again inside", "a.ts", "function f(a: A, b: B) { return (b: B) => a; }"],
    ["a name that is bound again inside", "a.py", "def f(a, b):\n    return lambda b: a"],
    ["a name of another type inside", "a.go", "package a\nfunc f(a, b string) { g(func(b int) { g(a) }) }"],
    ["documentation and annotations", "a.py", '"""x"""\ndef f(a: Literal[1]):\n    "x"\n'],
    ["a word that would merge with its neighbours", "a.py", "x=a==b"],
    ["operands of two types", "a.go", "package a\nfunc f(a string, b int) string { return a + c(b) }"],
    [
      "the only use of a variable",
      "a.go",
      'package a\nfunc f() string {\n\ta := "x"\n\tb := "y"\n\tg(b)\n\treturn a\n}',
    ],
    ["the only use of a package", "a.go", 'package a\nimport "os"\nfunc f() {\n\tos.Exit(b)\n}'],
    [
      "cases that would be equal",
      "a.go",
      "package a\nfunc f(a int) {\n\tswitch a {\n\tcase 1:\n\tcase 2:\n\t}\n}",
    ],
    ["a divisor", "a.go", "package a\nfunc f(a int) int { return g(a / 1) }"],
  ])("leave alone %s", (_what, file, text) => {
    const found = editsOf(file, text).filter((edit) => !/^(?:return|arithmetic: \/|equality)/.test(edit));
    expect(found).toEqual([]);
  });
});

describe("functions", () => {
  it.each([
    ["a.ts", TYPESCRIPT, ["<module>", "constructor", "pick", "note", "make"]],
    ["a.py", PYTHON, ["<module>", "__init__", "pick", "note", "first"]],
    ["a.go", GO, ["<module>", "Pick", "next", "note", "same"]],
  ])("of %s are named as a reader would", (file, text, names) => {
    expect(
      language(file)
        .functions(text)
        .map(({ name }) => name),
    ).toEqual(names);
  });

  it("have parameters as they are written", () => {
    const parameters = (file: string, text: string) => language(file).functions(text)[2]!.parameters;
    expect(parameters("a.ts", TYPESCRIPT)).toEqual(["list: readonly string[]", "from: number", "until = 5"]);
    expect(parameters("a.py", PYTHON)).toEqual(["self", "values", "start", "stop"]);
    expect(parameters("a.go", GO)).toEqual(["rest []string", "size int"]);
  });

  it.each([
    [
      "a.py",
      'def f(a):\n    """Docs."""\n    b = a\n    return b\n',
      'def f(a):\n    """Docs."""\n    raise NotImplementedError\n',
    ],
    ["a.py", "def f(a): return a\n", "def f(a): raise NotImplementedError\n"],
    [
      "a.go",
      "package a\nfunc f(a int) int {\n\treturn a\n}",
      'package a\nfunc f(a int) int { panic("not implemented") }',
    ],
    [
      "a.ts",
      "const f = (a: A) => { return a; };",
      'const f = (a: A) => { throw new Error("not implemented"); };',
    ],
  ])("of %s have a body that a stub may stand for", (file, text, expected) => {
    const { body, functions, stubs, parses } = language(file);
    const { start, end } = body(text, functions(text)[1]!)!;
    const stubbed = text.slice(0, start) + stubs[0] + text.slice(end);
    expect(stubbed).toBe(expected);
    expect(parses(stubbed)).toBe(true);
  });

  it.each([
    ["nothing but documentation", "a.py", 'def f(a):\n    """Docs."""\n'],
    ["an expression", "a.ts", "const f = (a: A) => a;"],
    ["the only use of a package", "a.go", 'package a\nimport "os"\nfunc f() {\n\tos.Exit(1)\n}'],
  ])("have no such body: %s", (_what, file, text) => {
    const { body, functions } = language(file);
    expect(body(text, functions(text)[1]!)).toBeNull();
  });
});

describe("languageOf", () => {
  it("goes by the file's ending; what nobody knows has plain words", () => {
    expect(
      ["a.js", "b/a.mjs", "a.cts", "a.tsx", "a.py", "a.go"].map((file) => languageOf(file)?.name),
    ).toEqual(["javascript", "javascript", "typescript", "tsx", "python", "go"]);
    expect(languageOf("a.rs")).toBeNull();
    expect(normalisedTokens("a.rs", "fn f(a) {}")).toEqual(["fn", "f", "(", "a", ")", "{", "}"]);
  });
});

describe("normalisedTokens", () => {
  it.each([
    [
      "a.js",
      "const a = b('x', 1); // c",
      "const c = d('y', 20);",
      "const <name> = <name> ( <string> , <number> ) ;",
    ],
    ["a.py", "a = f('x', 1) # c", "c = d('''y''', 20)", "<name> = <name> ( <string> , <number> )"],
    ["a.go", 'package a\nvar a = "x"', "package b\nvar c = `y`", "package <name> var <name> = <string>"],
  ])("of %s are the same for other names and literals", (file, text, other, tokens) => {
    expect(normalisedTokens(file, text).join(" ").trim()).toBe(tokens);
    expect(normalisedTokens(file, other)).toEqual(normalisedTokens(file, text));
  });
});
