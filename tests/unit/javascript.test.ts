/** Edits of JavaScript source: every one parses and can be undone, in an order that never changes. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applyEdit,
  enumerateEdits,
  innermostFunction,
  listFunctions,
  OPERATORS,
  parses,
} from "../../services/javascript/index.ts";

const ROOT = new URL("../../node_modules/", import.meta.url);
/** Real sources: CommonJS and ECMAScript modules, old and new syntax, minified regular expressions. */
const SOURCES = [
  "picomatch/lib/scan.js",
  "split2/index.js",
  "wrap-ansi/index.js",
  "picomatch/lib/utils.js",
].map((path) => readFileSync(new URL(path, ROOT), "utf8"));

const SAMPLE = `#!/usr/bin/env node
"use strict";
const limit = 10, step = 2, other = "a";
function pick(list, from, until) {
  for (let i = from; i < until; i++) {
    if (!list[i] || typeof list[i] !== "string") continue;
    if (/^[^a-z]+\\d$/i.test(list[i]) && i >= step) break;
    list[i] += other === "a" ? "a" : "b";
  }
  return list.slice(from, until) - limit;
}
module.exports = { pick, run: (x) => x + 1, off: true };
if (limit & 1) return;
`;

function editsOf(source: string) {
  return enumerateEdits(source).map((edit) => ({
    operator: edit.operator,
    line: edit.line,
    old: source.slice(edit.start, edit.end),
    replacement: edit.replacement,
  }));
}

describe("enumerateEdits", () => {
  it.each(OPERATORS)("offers %s edits", (operator) => {
    const source = `${SAMPLE}\nwhile (x) { drop(a, b); if (c ? d : e) break; var c = 1, d = 2; z = x * d; }`;
    expect(enumerateEdits(source).some((edit) => edit.operator === operator)).toBe(true);
  });

  it.each([
    ["a < b;", "comparison", "<", ["<=", ">", ">="]],
    ["a === b;", "equality", "===", ["==", "!=", "!=="]],
    ["a + b;", "arithmetic", "+", ["-", "*", "/", "%"]],
    ["a && b;", "logical", "&&", ["||"]],
    ["x = 0;", "constant", "0", ["1"]],
    ["x = 7;", "constant", "7", ["8", "6"]],
    ["x = true;", "boolean", "true", ["false"]],
    ["f(a, b);", "argument-order", "a, b", ["b, a"]],
    ["x = a ? b : c;", "ternary", "b : c", ["c : b"]],
    ["i++;", "increment", "++", ["--"]],
    ["for (;;) break;", "loop-control", "break", ["continue"]],
    ["f();", "dropped-statement", "f();", [";"]],
    ["typeof x == 'string';", "string", "string", ["boolean", "function", "number", "object", "undefined"]],
    ["function f(a, b, c) { return b; }", "variable", "b", ["a", "c"]],
  ] as const)("in %j: %s", (source, operator, old, replacements) => {
    const found = editsOf(source).filter((edit) => edit.operator === operator && edit.old === old);
    expect(found.map((edit) => edit.replacement).sort()).toEqual([...replacements].sort());
  });

  it("leaves alone what would merge with its neighbours or change its meaning in silence", () => {
    expect(editsOf("x = a+-b;").filter((edit) => edit.old === "+")).toEqual([]);
    expect(editsOf("'use strict';").map((edit) => edit.operator)).toEqual([]);
    expect(
      editsOf("require('a'); require('a'); require('b');").filter((edit) => edit.operator === "string"),
    ).toEqual([]);
    expect(
      editsOf("switch (x) { case 1: break; }").filter((edit) => edit.operator === "loop-control"),
    ).toEqual([]);
  });

  it("never replaces a variable by one that an inner function declares again", () => {
    const source = "function f(a, b) { return function (b) { return a; }; }";
    expect(editsOf(source).filter((edit) => edit.operator === "variable" && edit.old === "a")).toEqual([]);
  });

  it("sorts by position, operator and replacement, without duplicates", () => {
    for (const source of SOURCES) {
      const edits = enumerateEdits(source);
      const keys = edits.map((edit) => `${edit.start}:${edit.end}:${edit.replacement}`);
      expect(new Set(keys).size).toBe(keys.length);
      const order = [...edits].sort(
        (a, b) =>
          a.start - b.start ||
          a.end - b.end ||
          OPERATORS.indexOf(a.operator) - OPERATORS.indexOf(b.operator) ||
          (a.replacement < b.replacement ? -1 : 1),
      );
      expect(edits).toEqual(order);
    }
  });

  it("gives edits after which the source parses, and which another edit undoes", () => {
    const source = fc.constantFrom(SAMPLE, ...SOURCES);
    fc.assert(
      fc.property(source, fc.nat(), (text, n) => {
        const edits = enumerateEdits(text);
        const edit = edits[n % edits.length]!;
        const edited = applyEdit(text, edit);
        expect(edited).not.toBe(text);
        expect(parses(edited)).toBe(true);
        if (edit.operator === "dropped-statement") return;
        expect(enumerateEdits(edited).some((undo) => applyEdit(edited, undo) === text)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("stays so after many edits on top of each other", () => {
    let text = SAMPLE;
    for (let n = 7; n < 60; n += 7) {
      const edits = enumerateEdits(text);
      text = applyEdit(text, edits[(n * 31) % edits.length]!);
      expect(parses(text)).toBe(true);
    }
  });

  it("takes any text at all", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (text) => {
        for (const edit of enumerateEdits(text)) expect(parses(applyEdit(text, edit))).toBe(true);
        expect(listFunctions(text)[0]!.name).toBe("<module>");
      }),
    );
    expect(enumerateEdits("function (")).toEqual([]);
    expect(parses("function (")).toBe(false);
  });

  it("accepts modules, hashbangs and a return at the top", () => {
    expect(parses("import a from 'a';\nexport default a;")).toBe(true);
    expect(parses("#!/usr/bin/env node\nreturn 1;")).toBe(true);
  });
});

describe("listFunctions", () => {
  it("names functions as a reader would", () => {
    const source = `function a() {}
      var b = function () {}; c.d = () => 1; module.exports = function () {};
      ({ e: function () {}, f() {}, "g-h": () => {} });
      class K { m() {} static #n = () => {} }
      run(function () {});`;
    const names = listFunctions(source).map((each) => each.name);
    expect(names).toEqual([
      "<module>",
      "a",
      "b",
      "d",
      "exports",
      "e",
      "f",
      "g-h",
      "m",
      "#n".slice(1),
      "<anonymous>:5",
    ]);
  });

  it("gives offsets of the whole and of the body with its braces", () => {
    const source = "var f = (x, y = 2) => { return x; };";
    const [, f] = listFunctions(source);
    expect(source.slice(f!.start, f!.end)).toBe("(x, y = 2) => { return x; }");
    expect(source.slice(f!.bodyStart, f!.bodyEnd)).toBe("{ return x; }");
    expect(f!.parameters).toEqual(["x", "y = 2"]);
  });

  it("finds the innermost function of every offset", () => {
    for (const source of [SAMPLE, ...SOURCES]) {
      const functions = listFunctions(source);
      for (let offset = 0; offset < source.length; offset += 97) {
        const found = innermostFunction(functions, offset);
        const around = functions.filter((each) => each.start <= offset && offset < each.end);
        expect(found.end - found.start).toBe(Math.min(...around.map((each) => each.end - each.start)));
      }
    }
  });
});
