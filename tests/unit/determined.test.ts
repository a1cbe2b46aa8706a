/** What a statement must say of what the tests need, and what nobody has to say. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { AuthoredText, Task, TypeCheck } from "../../core/task.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import { determined } from "../../services/synthesis/determined.ts";
import { mentionsOf } from "../../services/synthesis/mentions.ts";

const BASE = `exports.clamp = function clamp(value, low, high) {
  return value < low ? low : value > high ? high : value;
};
`;
let roots: string[] = [];
afterEach(() => {
  for (const root of roots) rmSync(root, { recursive: true });
  roots = [];
});

interface Given {
  readonly text: Partial<AuthoredText>;
  readonly gold: string;
  readonly test: string;
  readonly check?: TypeCheck;
  readonly file?: string;
  readonly tree?: Readonly<Record<string, string>>;
}

/** The verdict on a task of a package of one file, with one hidden test that it brings. */
function judge({ text, gold, test, check, file = "index.js", tree = { "index.js": BASE } }: Given) {
  const root = mkdtempSync(join(tmpdir(), "determined-"));
  roots.push(root);
  for (const [path, content] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const suffix = file.slice(file.lastIndexOf("."));
  const task: Task = {
    id: "t0123456789abcdef",
    environment: "small@1.0.0-000000000000",
    type: "feature",
    generator: "llm",
    base: [],
    gold: [writeText(file, gold)],
    hiddenFiles: [],
    failToPass: [`test/new${suffix} > new > works#1`],
    passToPass: [],
    functions: [],
    facts: {
      sites: [{ file, functionName: "clampAll", line: 1, operator: "authored" }],
      reproduction: null,
      text: { title: "Clamp several values at once", body: "", contract: "", ...text },
      ...(check && { check }),
    },
    verifier: {
      files: [writeText(`test/new${suffix}`, test)],
      commands: [],
      exact: null,
      timeoutSeconds: 60,
    },
  };
  return determined(task, root);
}

const gold = `${BASE}exports.clampAll = function clampAll(values, options) {
  if (!Array.isArray(values)) throw new TypeError("values must be a list");
  return values.map((value) => exports.clamp(value, 0, options.upperBound));
};
`;
const test = `var small = require('..');
test('list', function (t) {
  t.deepEqual(small.clampAll([1, 9], { upperBound: 5 }), [1, 5]);
  t.throws(function () { small.clampAll(3); }, /must be a list/);
});
`;
const CONTRACT =
  "`clampAll(values, { upperBound })` clamps each value to 0..upperBound; anything else is a TypeError: values must be a list.";

describe("determined", () => {
  it("passes what the contract says, and needs level 1 for it", () => {
    expect(judge({ text: { contract: CONTRACT }, gold, test })).toMatchObject({
      passed: true,
      neededLevel: 1,
    });
  });

  it("needs no level where the body says it all", () => {
    expect(judge({ text: { body: CONTRACT }, gold, test })).toMatchObject({ passed: true, neededLevel: 0 });
  });

  it.each([
    ["the name clampAll", CONTRACT.replace("clampAll", "clampEach")],
    ["the name upperBound", CONTRACT.replaceAll("upperBound", "high")],
    ['the text "must be a list"', CONTRACT.replace("values must be a list", "a list is due")],
  ])("refuses a contract without %s, and says so", (what, contract) => {
    const { passed, evidence } = judge({ text: { contract }, gold, test });
    expect(passed).toBe(false);
    expect(evidence).toContain(what);
  });

  it("does not ask for what the tree shows", () => {
    const tree = { "index.js": BASE, "README.md": "clampAll takes upperBound; 'values must be a list'" };
    expect(judge({ text: { body: "Clamp lists." }, gold, test, tree })).toMatchObject({
      passed: true,
      neededLevel: 0,
    });
  });

  it("does not ask for values that are computed, nor for names that only the solution or only the tests use", () => {
    const computed = test
      .replace("[1, 5]", "expectedValues.map(twice)")
      .replace("/must be a list/", "/clampAll of 17/");
    const helped = gold.replace("exports.clamp(value", "limitedWithin(value");
    const contract = "`clampAll(values, { upperBound })` clamps each to 0..upperBound.";
    expect(judge({ text: { contract }, gold: helped, test: computed })).toMatchObject({
      passed: true,
      evidence: expect.any(String),
    });
  });

  it("asks for a file that the tests load and the tree lacks", () => {
    const body = CONTRACT;
    const other = test.replace("'..'", "'../lib/lists'");
    expect(judge({ text: { body }, gold, test: other, file: "lib/lists.js" }).evidence).toContain(
      "the file lib/lists",
    );
    const said = `${CONTRACT} It is in lib/lists.js.`;
    expect(judge({ text: { body: said }, gold, test: other, file: "lib/lists.js" }).passed).toBe(true);
  });

  it("asks for an exit code", () => {
    const cli = `${BASE}exports.clampAll = function () { process.exit(3); };\n`;
    const exits = "test('x', function (t) { t.equal(run('clampAll').status, 3); });";
    const text = { body: "`clampAll` ends the process." };
    expect(judge({ text, gold: cli, test: exits }).evidence).toContain("the exit code 3");
    expect(
      judge({ text: { body: "`clampAll` ends the process with 3." }, gold: cli, test: exits }).passed,
    ).toBe(true);
  });

  it("asks for the names that the check of its type asks for, even of what the tree has", () => {
    const structure = { kind: "lacks", file: "index.js", symbol: "clamp" } as const;
    const check: TypeCheck = { type: "refactor", structure: [structure] };
    const unsaid = { title: "Tidy up clampAll", body: CONTRACT };
    expect(judge({ text: unsaid, gold, test, check }).evidence).toContain("the symbol clamp");
    expect(judge({ text: { ...unsaid, contract: "`clamp` goes." }, gold, test, check })).toMatchObject({
      passed: true,
      neededLevel: 1,
    });
    const moved: TypeCheck = { type: "migration", absent: ["old-lib"], present: ["new-lib"] };
    expect(judge({ text: unsaid, gold, test, check: moved }).evidence).toContain(
      "the module old-lib, the module new-lib",
    );
  });

  it("refuses a text that names nothing of the tests or the solution", () => {
    const known = {
      ...{
        gold: BASE.replace("high :", "low :"),
        test: "var s = require('..'); test('t', function (t) { t.equal(s.clamp(9, 0, 5), 5); });",
      },
    };
    const vague = {
      title: "Wrong result",
      body: "The function returns a wrong value for some inputs. It should work.",
    };
    expect(judge({ text: vague, ...known }).evidence).toContain("tests or the solution name");
    expect(
      judge({ text: { ...vague, body: "A value above the upper limit is not clamped." }, ...known }).passed,
    ).toBe(true);
  });

  it("reads tests in Python, Go and TypeScript by their words", () => {
    const python =
      "from pkg import clamp_all\n\ndef test_it():\n    local = clamp_all([1], upper_bound=5)\n    assert local == 'too much'\n";
    const found = mentionsOf("tests/test_it.py", python);
    expect([...found.names]).toEqual(expect.arrayContaining(["clamp_all", "upper_bound"]));
    expect(found.names.has("local")).toBe(false);
    expect([...found.texts]).toContain("too much");
    expect([
      ...mentionsOf("a_test.go", "func TestX(t *testing.T) { got := pkg.ClampAll(v) }").names,
    ]).toContain("ClampAll");
    expect([
      ...mentionsOf("a.test.ts", "import { clampAll, type X } from './lib/x'; const a: X = 1;").names,
    ]).toContain("clampAll");
    const solved = "def clamp_all(values, upper_bound):\n    return values\n";
    const given = { gold: solved, file: "pkg.py", tree: { "pkg.py": "" }, test: python };
    expect(judge({ ...given, text: { body: "Add clamp_all." } }).evidence).toContain("the name upper_bound");
    expect(judge({ ...given, text: { body: "Add clamp_all(values, upper_bound)." } }).passed).toBe(true);
  });
});

describe("mentionsOf", () => {
  it("takes the runs of a regular expression that match themselves", () => {
    const { patterns } = mentionsOf("t.js", "x(/^bad\\.name: \\d+ items? of [abc]{2} left$/i)");
    expect([...patterns]).toEqual(["bad.name: ", " item", " of ", " left"]);
  });
});
