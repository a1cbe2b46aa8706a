/** Statements by level, symptoms, shell quoting and leak checks. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteShell } from "../../core/shell.ts";
import type { Statement, StatementLevel, Task } from "../../core/task.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import { findLeaks, writeStatement } from "../../services/synthesis/index.ts";
import { goldLines, windowOf } from "../../services/synthesis/leaks.ts";
import { printedKind, symptom } from "../../services/synthesis/symptom.ts";

const source = [
  "function isNumber(x) {",
  "  return /^0x[0-9a-f]+$/i.test(x);",
  "}",
  "module.exports = isNumber;",
];
const broken = source.map((line) => line.replace("^0x", "^0b"));

const task: Task = {
  id: "t0123456789abcdef",
  environment: "minimist@1.2.8-0123456789ab",
  type: "bug",
  generator: "mutation",
  base: [writeText("index.js", broken.join("\n"))],
  gold: [writeText("index.js", source.join("\n"))],
  hiddenFiles: ["test/num.js"],
  failToPass: [
    "test/num.js > numbers in hex > reads a hex number#1",
    "test/num.js > nums > should be equal#1",
  ],
  passToPass: [],
  functions: ["minimist#index.js#isNumber"],
  facts: {
    sites: [{ file: "index.js", functionName: "isNumber", line: 2, operator: "regular-expression" }],
    reproduction: {
      code: 'console.log(require("./")("0x1f"))',
      command: `node -e 'console.log(require("./")("0x1f"))'`,
      actual: "false",
      expected: "true",
      assertion: "test/num.js > numbers in hex > reads a hex number#1",
    },
  },
};
const before = (path: string) => (path === "index.js" ? broken.join("\n") : "");
/** Its base writes all that its solution changes, so that no snapshot is read. */
const leaksOf = (of: Task, statement: Statement) => findLeaks(of, statement, import.meta.dirname);
const levels: readonly StatementLevel[] = [0, 1, 2, 3];
const textOf = (level: StatementLevel, of = task) => writeStatement(of, level).text;

describe("writeStatement", () => {
  it("tells the symptom at level 0, and neither input, code, function nor place", () => {
    expect(textOf(0)).toContain("minimist: a call answers false where true is right");
    for (const word of ["0x1f", "node -e", "isNumber", "index.js"]) expect(textOf(0)).not.toContain(word);
  });

  it("quotes the reproduction with both outputs from level 1", () => {
    const { command, actual, expected } = task.facts.reproduction!;
    for (const level of [1, 2, 3] as const) {
      expect(textOf(level)).toContain(`Run:\n\n\`\`\`sh\n${command}\n\`\`\`\n`);
      expect(textOf(level)).toContain(`Prints:\n\n\`\`\`\n${actual}\n\`\`\`\n`);
      expect(textOf(level)).toContain(`Should print:\n\n\`\`\`\n${expected}\n\`\`\`\n`);
    }
  });

  it("names the function from level 2 and the place and kind of mistake at level 3", () => {
    expect(textOf(1)).not.toContain("isNumber");
    expect(textOf(2)).toContain("`isNumber`");
    expect(textOf(2)).not.toContain("index.js");
    expect(textOf(3)).toContain("`index.js:2`: a wrong regular expression (`regular-expression`)");
  });

  it("gives the same text and hash for the same task, and another for each level", () => {
    for (const level of levels) expect(writeStatement(task, level)).toEqual(writeStatement(task, level));
    expect(new Set(levels.map((level) => writeStatement(task, level).hash)).size).toBe(4);
  });

  it("asks for an implementation when the task is a feature", () => {
    const feature: Task = { ...task, type: "feature", generator: "removal" };
    expect(textOf(2, feature)).toContain("The stub is the function `isNumber`.");
    expect(textOf(0, feature)).toContain("not implemented yet");
    expect(textOf(0, feature)).not.toMatch(/mistake|broken/);
  });

  it("tells both symptoms of a combination", () => {
    const [site] = task.facts.sites;
    const two: Task = {
      ...task,
      generator: "combination",
      facts: {
        sites: [site!, { ...site!, functionName: "hasKey", line: 9 }],
        reproduction: { ...task.facts.reproduction!, actual: "false\n1", expected: "true\n'x'" },
      },
    };
    expect(textOf(0, two)).toContain("First, a call answers false where true is right.");
    expect(textOf(0, two)).toContain("Second, a number comes out where a string is due.");
    expect(textOf(2, two)).toContain("in the function `isNumber` and the function `hasKey`.");
  });

  it("fences outputs that hold a fence themselves", () => {
    const reproduction = { ...task.facts.reproduction!, expected: "'```js'" };
    expect(textOf(1, { ...task, facts: { ...task.facts, reproduction } })).toContain("````\n'```js'\n````");
  });

  it("does not call a function without a name by its line", () => {
    const site = { ...task.facts.sites[0]!, functionName: "<anonymous>:2" };
    const text = textOf(2, { ...task, facts: { ...task.facts, sites: [site] } });
    expect(text).toContain("in a function without a name.");
    expect(text).not.toContain("anonymous");
  });

  it("can be written without a reproduction", () => {
    const bare: Task = { ...task, facts: { ...task.facts, reproduction: null } };
    const failing = `1 of the package's ${1 + bare.passToPass.length} tests fails, in files that are not shown here.`;
    const told = (level: StatementLevel) =>
      writeStatement({ ...bare, failToPass: bare.failToPass.slice(0, 1) }, level);
    expect(told(0).text).not.toContain("tests fails");
    expect(told(1).text).toContain(failing);
    expect(leaksOf(bare, told(1))).toEqual([]);
    for (const level of levels) expect(textOf(level, bare)).not.toContain("Run:");
  });
});

describe("findLeaks", () => {
  it("finds nothing in the project's own statements", () => {
    for (const level of levels) expect(leaksOf(task, writeStatement(task, level))).toEqual([]);
  });

  it.each([
    ["a line of the gold change", "change it to   return /^0x[0-9a-f]+$/i.test(x);", 3],
    ["a hidden test file", "see test/num.js", 3],
    ["a hidden test file", "see num.js.", 3],
    ["a hidden test's name", "it reads a hex number", 3],
    ["a hidden test's name", "numbers in hex fail", 3],
    ["the place", "at index.js:2", 2],
    ["the function", "in `isNumber`", 1],
    ["the reproduction", `run node -e 'console.log(require("./")("0x1f"))'`, 0],
  ] as const)("finds %s in %j", (kind, addition, level) => {
    const statement = writeStatement(task, level);
    const leaks = leaksOf(task, { ...statement, text: `${statement.text}${addition}\n` });
    expect(leaks).toHaveLength(1);
    expect(leaks[0]).toContain(kind);
  });

  it("lets a statement name a source that is called like its test", () => {
    const site = { ...task.facts.sites[0]!, file: "lib/num.js" };
    const named = { ...task, facts: { ...task.facts, sites: [site] } };
    expect(leaksOf(named, writeStatement(named, 3))).toEqual([]);
    expect(leaksOf(named, { ...writeStatement(named, 3), text: "in test/num.js" })).toHaveLength(1);
  });

  it("does not mind the names that the test framework gives, nor a longer file's name", () => {
    const statement = {
      ...writeStatement(task, 3),
      text: "A number should be equal to itself in lib/enum.js",
    };
    expect(leaksOf(task, statement)).toEqual([]);
  });
});

describe("a task with a text of its own", () => {
  const text = {
    title: "Numbers in hex are read as text",
    body: "A hexadecimal number should come out as a number.",
    contract: "`0x1f` and `0X1F` are 31.",
  };
  const authored: Task = { ...task, facts: { ...task.facts, text } };
  const [site] = task.facts.sites;
  const withSite = (over: Partial<NonNullable<typeof site>>, more: Partial<Task> = {}): Task => ({
    ...authored,
    ...more,
    facts: { ...authored.facts, sites: [{ ...site!, ...over }] },
  });
  const told = (addition: string, level: StatementLevel, of = authored) => {
    const statement = writeStatement(of, level);
    return leaksOf(of, { ...statement, text: `${statement.text}${addition}\n` });
  };

  it("is worded by it: title and body, then the contract and the reproduction, the functions, the places", () => {
    expect(textOf(0, authored)).toBe(
      `${text.title}\n\n${text.body}\n\nPlease correct the package's source. Everything else must keep working.\n`,
    );
    expect(textOf(1, authored)).toContain(`${text.body}\n\n${text.contract}\n\nRun:\n\n`);
    expect(textOf(2, authored)).toContain("It concerns the function `isNumber`.");
    expect(textOf(3, authored)).toContain("`index.js:2`: a wrong regular expression");
    expect(textOf(3, withSite({ operator: "commit" }, { type: "performance" }))).toContain(
      "Look at `index.js:2`: what takes the time.",
    );
  });

  it("can do without a contract, a reproduction and sites", () => {
    const facts = { ...authored.facts, text: { ...text, contract: "" }, reproduction: null, sites: [] };
    for (const level of levels) expect(textOf(level, { ...authored, facts })).toBe(textOf(0, authored));
  });

  it("closes with what its type asks for", () => {
    const closings = (["bug", "feature", "refactor", "migration", "performance"] as const).map(
      (type) =>
        textOf(0, { ...authored, type })
          .trimEnd()
          .split("\n")
          .at(-1)!,
    );
    expect(new Set(closings).size).toBe(5);
    expect(closings[4]).toContain("faster");
  });

  it("leaks nothing by itself", () => {
    for (const level of levels) expect(leaksOf(authored, writeStatement(authored, level))).toEqual([]);
  });

  it.each([
    ["the function", "isNumber is wrong", 1],
    ["the place", "it is on line 2", 2],
    ["the file", "have a look at index.js", 2],
    ["the reproduction", 'console.log(require("./")("0x1f"))', 0],
    ["a hidden test file", "as test/hex.js shows", 3],
  ] as const)("finds %s in %j", (kind, addition, level) => {
    const tests = [writeText("test/hex.js", "")];
    const verifier = { files: tests, commands: [], exact: null, timeoutSeconds: 1 };
    const leaks = told(addition, level, { ...authored, verifier });
    expect(leaks).toHaveLength(1);
    expect(leaks[0]).toContain(kind);
    expect(told(addition, level === 0 ? 1 : 3)).toEqual([]);
  });

  it("may name the functions and files that its hidden tests use", () => {
    const tests = [writeText("test/hex.js", "require('../index.js').isNumber('0x1f')")];
    const verifier = { files: tests, commands: [], exact: null, timeoutSeconds: 1 };
    expect(told("`isNumber` of index.js is wrong", 0, { ...authored, verifier })).toEqual([]);
  });

  it("does not take the English word for the function that is called by it", () => {
    const parse = withSite({ functionName: "parse" });
    expect(told("Numbers do not parse.", 0, parse)).toEqual([]);
    expect(told("parse() is wrong", 0, parse)).toHaveLength(1);
  });

  it("leaks an expression of the solution, but not its interface or its messages", () => {
    const solved = `${broken.join("\n")}
function clampAll(values, lowest, highest) {
  if (!values) throw new TypeError("a list of values is due, not this one");
  return values.map((value) => Math.min(highest, Math.max(lowest, value)));
}`;
    const longer: Task = { ...authored, gold: [writeText("index.js", solved)] };
    expect(told("use `Math.min(highest, Math.max( lowest, value))` there", 3, longer)[0]).toContain(
      "an expression of the gold change",
    );
    expect(
      told("`clampAll(values, lowest, highest)`: a list of values is due, not this one", 3, longer),
    ).toEqual([]);
    expect(told("the highest of the values, and the lowest of the values", 3, longer)).toEqual([]);
  });
});

describe("goldLines", () => {
  it("is the telling lines of the solved tree that the base tree lacks", () => {
    expect(goldLines(before, task.gold)).toEqual(["return /^0x[0-9a-f]+$/i.test(x);"]);
    expect(goldLines(() => "", [writeText("CHANGELOG.md", "- numbers in hex are read")])).toEqual([]);
  });
});

describe("windowOf", () => {
  it("is the changed lines with as many neighbours as make them unmistakable", () => {
    const lines = Array.from({ length: 9 }, (_, i) => `  step(${i}, { deep: true });`);
    const base = lines.map((line, i) => (i === 4 ? "  step(5);" : line));
    const window = windowOf(base.join("\n"), lines.join("\n"));
    expect(window).toBe("step(3,{deep:true});step(4,{deep:true});step(5,{deep:true});");
    expect(windowOf(lines.join("\n"), base.join("\n"))).toContain("step(3,{deep:true});step(5);");
  });
});

describe("printedKind and symptom", () => {
  it.each([
    ["TypeError: x is not a function", "error"],
    ["'TypeError: no'", "string"],
    ["undefined", "undefined"],
    ["-0", "number"],
    ["NaN", "number"],
    ["12n", "bigint"],
    ["[ 1, 2 ]", "array"],
    ["[Object: null prototype] { a: 1 }", "object"],
    ["{ _: [] }", "object"],
    ["Map(1) { 'a' => 1 }", "object"],
    ["[Function: f]", "function"],
    ["None", "undefined"],
    ["True", "boolean"],
    ["b'a'", "string"],
    ["(1, 'a')", "tuple"],
    ["{'a': 1}", "object"],
    ["ValueError: no", "error"],
  ])("%s is %s", (text, kind) => expect(printedKind(text)).toBe(kind));

  it("words a value for an error, an error for a value, and a shorter list", () => {
    expect(symptom("1", "RangeError: no")).toBe("a call that must be refused returns a number");
    expect(symptom("RangeError: no", "1")).toBe("a call that must return a number fails with an error");
    expect(symptom("[ 1 ]", "[ 1, 2 ]")).toBe("part of the result, an array, is missing");
  });
});

describe("quoteShell", () => {
  it("gives a shell any text as one word", () => {
    const texts = fc.array(
      fc.string().filter((text) => !text.includes("\0")),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(texts, (words) => {
        const out = execFileSync("sh", ["-c", `printf '%s\\0' ${["", ...words].map(quoteShell).join(" ")}`]);
        expect(out.toString()).toBe(["", ...words].map((word) => `${word}\0`).join(""));
      }),
      { numRuns: 25 },
    );
  });
});
