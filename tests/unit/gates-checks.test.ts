/** Checks of a type, as they run in the judging box: what counts as a definition, a call, a copy, an import, and how a speed-up is bounded. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StructuralAssertion, TypeCheck } from "../../core/task.ts";
import { loadCatalogue, type PreparedEnvironment } from "../../services/environments/index.ts";
import { parseTap } from "../../services/grading/index.ts";
import { checkOf } from "../../services/synthesis/checks/index.ts";
import type { Candidate } from "../../services/synthesis/index.ts";

const box = createRequire(new URL("../../services/synthesis/checks/box/", import.meta.url));
const { importsOf, isOf, unreadableOf } = box("./imports.cjs") as {
  importsOf(source: string, go: boolean): string[];
  isOf(module: string, wanted: string, file: string): boolean;
  unreadableOf(source: string): string[];
};
const { interval } = box("./interval.cjs") as {
  interval(values: number[], confidence: number): { low: number; high: number; median: number };
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "checks-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const catalogue = await loadCatalogue();

/** The catalogue's entry on a tree of these files. */
function environmentOf(name: string, files: Readonly<Record<string, string>>): PreparedEnvironment {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "root", path)), { recursive: true });
    writeFileSync(join(folder, "root", path), text);
  }
  const entry = catalogue.entries.find((one) => one.name === name)!;
  return {
    key: `${name}@1-0`,
    entry,
    root: join(folder, "root"),
    image: null,
  } as unknown as PreparedEnvironment;
}

const CANDIDATE: Candidate = {
  type: "refactor",
  generator: "llm",
  ...{ base: [], gold: [], sites: [], functions: [] },
};

/** Runs the check in the tree, its files in another folder than in a box. */
function statuses(
  environment: PreparedEnvironment,
  check: TypeCheck,
  judged: Readonly<Record<string, string>> = {},
) {
  const made = checkOf(environment, CANDIDATE, check);
  for (const [path, text] of Object.entries(judged)) writeFileSync(join(environment.root, path), text);
  if ("none" in made) throw new Error(made.none);
  const place = (path: string) => path.replace("/tmp/check", join(folder, "check"));
  for (const file of made.files) {
    mkdirSync(join(folder, "check"), { recursive: true });
    if (file.kind === "write") writeFileSync(place(file.path), file.content);
  }
  const [program, ...args] = made.command.argv.map(place);
  const run = spawnSync(program === "node" ? process.execPath : program!, args, {
    cwd: environment.root,
    encoding: "utf8",
  });
  const report = parseTap(run.stdout, "");
  expect(report.complete, run.stderr).toBe(true);
  expect(run.status === 0).toBe(!Object.values(report.statuses).includes("failed"));
  return Object.values(report.statuses).map((status) => status === "passed");
}

/** With one more that holds, for a definition alone has to be used, too. */
const structure = (environment: PreparedEnvironment, ...assertions: StructuralAssertion[]) => {
  const gone = { kind: "lacks", file: "gone.js", symbol: "gone" } as const;
  const found = statuses(environment, { type: "refactor", structure: [...assertions, gone] });
  expect(found.pop()).toBe(true);
  return found;
};

const defines = (file: string, symbol: string) => ({ kind: "defines", file, symbol }) as const;

describe("the structure of JavaScript", () => {
  const SOURCE = `// function ghost() {}
const text = "function ghost() {}", other = \`\${function inner() { return "}" }()} function ghost() {}\`;
const pattern = /function ghost\\(\\) {}/;
function plain(a) { return helper(a) + helper(a); }
const arrow = async (a) => { return a; };
exports.given = function () { return helper(1); };
class Box { method(a) { if (a) { return helper(a); } } static other() {} }
module.exports = { short(a) { return a; }, long: (a) =>
  a };
helper(2);
`;
  it.each(["plain", "arrow", "given", "Box", "method", "other", "short", "long", "inner"])(
    "defines %s",
    (name) => {
      expect(structure(environmentOf("minimist", { "index.js": SOURCE }), defines("index.js", name))).toEqual(
        [true],
      );
    },
  );

  it.each(["ghost", "helper", "if", "text", "pattern"])("does not define %s", (name) => {
    const environment = environmentOf("minimist", { "index.js": SOURCE });
    const lacks = { ...defines("index.js", name), kind: "lacks" } as const;
    expect(structure(environment, defines("index.js", name), lacks)).toEqual([false, true]);
  });

  it("counts lines, calls from a function, and copies", () => {
    const copy = "function a(x) {\n  const y = x + 1;\n  return y * y - x;\n}\n";
    const files = {
      "index.js": SOURCE,
      "a.js": copy,
      "b.js": copy.replace("function a", "function b"),
      "c.js": "1;",
    };
    const file = "index.js";
    const calls = (from: string, atLeast: number) =>
      ({ kind: "calls", file, symbol: "helper", from, atLeast }) as const;
    const copies = (tokens: number, ...names: string[]) =>
      ({ kind: "max-copies", files: names, tokens }) as const;
    expect(
      structure(
        environmentOf("minimist", files),
        { kind: "max-lines", file, symbol: "long", lines: 2 },
        { kind: "max-lines", file, symbol: "long", lines: 1 },
        ...[calls("plain", 2), calls("plain", 3), calls("method", 1), calls("arrow", 1)],
        ...[
          copies(15, "a.js", "b.js"),
          copies(40, "a.js", "b.js"),
          copies(15, "a.js", "c.js"),
          copies(15, "none.js"),
        ],
      ),
    ).toEqual([true, false, true, false, true, false, false, true, true, false]);
  });
});

describe("the structure of TypeScript, Go and Python", () => {
  it("is read in each of them", () => {
    const ts =
      "export class A<T> { run(a: Map<string, T>): T | null { return get(a); } }\nexport const f = (a: string): number => a.length;\ninterface I { a: string }\n";
    const inTs = environmentOf("css-what", { "src/parse.ts": ts });
    expect(
      structure(inTs, ...["A", "run", "f", "I", "get"].map((name) => defines("src/parse.ts", name))),
    ).toEqual([true, true, true, true, false]);
    const go =
      "package p\n\n// func ghost() {}\nfunc (v *Version) Less(o *Version) bool {\n\treturn v.compare(o) < 0\n}\n\nfunc plain() {}\n";
    const inGo = environmentOf("go-version", { "version.go": go });
    expect(
      structure(inGo, ...["Less", "plain", "ghost", "compare"].map((name) => defines("version.go", name))),
    ).toEqual([true, true, false, false]);
    const py =
      'class A:\n    """def ghost(): pass"""\n    def run(self):\n        return self.step() + self.step()\n\n    @cached\n    async def step(self):\n        # def ghost():\n        return 1\n\nshort = lambda a: a\n';
    const inPython = environmentOf("roman", { "src/roman.py": py });
    const file = "src/roman.py";
    expect(
      structure(
        inPython,
        ...["A", "run", "step", "short", "ghost"].map((name) => defines(file, name)),
        { kind: "calls", file, symbol: "step", from: "run", atLeast: 2 },
        { kind: "calls", file, symbol: "step", from: "step", atLeast: 1 },
        { kind: "max-lines", file, symbol: "run", lines: 2 },
        { kind: "max-lines", file, symbol: "A", lines: 9 },
        { kind: "lacks", file: "src/gone.py", symbol: "A" },
      ),
    ).toEqual([true, true, true, true, false, true, false, true, true, true]);
  });
});

describe("a definition of which nothing else is said", () => {
  it.each([
    ["minimist", "index.js", "function a() { return a(); }\nmodule.exports.a = a;\n", true],
    ["minimist", "index.js", "exports.a = function () { return a(); };\n", false],
    ["minimist", "index.js", "function a() { return a(); }\n", false],
    ["minimist", "index.js", "function a() {}\nfunction b() { a(); }\n", true],
    ["roman", "src/roman.py", "def a():\n    return a()\n", false],
    ["roman", "src/roman.py", "def a():\n    pass\n\na()\n", true],
  ])("is to be used (%s, %s): %j %s", (name, file, source, ok) => {
    const check = { type: "refactor", structure: [defines(file, "a")] } as const;
    expect(statuses(environmentOf(name, { [file]: source }), check)).toEqual([ok]);
  });
});

describe("imports", () => {
  it("are read from the code, not from its text", () => {
    const source = `import a, { b } from "one";
import "two/deep";
export * from 'three';
const c = require("four"), d = await import("five");
// require("six")
const e = 'require("seven")', f = object.require("eight"), g = \`\${require("nine")} import "ten"\`;
const from = "eleven"; from
`;
    expect(importsOf(source, false)).toEqual(["one", "two/deep", "three", "four", "five", "nine"]);
    const go = 'package p\n\nimport (\n\t"fmt"\n\tx "a/b" // "c"\n\t_ "d"\n)\n\nimport "e"\n\nvar f = "g"\n';
    expect(importsOf(go, true)).toEqual(["fmt", "a/b", "d", "e"]);
  });

  it.each([
    ["node:fs", "fs", true],
    ["lodash/map", "lodash", true],
    ["lodash-es", "lodash", false],
    ["../old.js", "./lib/old", true],
    ["./old", "./old", false],
  ])("%s in lib/a/b.js is %s: %s", (module, wanted, expected) => {
    expect(isOf(module, wanted, "lib/a/b.js")).toBe(expected);
  });

  it.each([
    ["a literal with escapes", "require('\\x6asonify')", ["jsonify"]],
    ["a literal in a call of import", 'import("\\u{6a}sonify")', ["jsonify"]],
  ])("%s is read", (_, source, modules) => {
    expect(importsOf(source, false)).toEqual(modules);
    expect(unreadableOf(source)).toEqual([]);
  });

  it.each([
    "require('json' + 'ify')",
    "const load = require; load('jsonify')",
    "module.require('jsonify')",
    "module['require']('jsonify')",
    "module[name]('jsonify')",
    "(require)('jsonify')",
    "require(name)",
    "require('json'.concat('ify'))",
    "import('json' + 'ify')",
    "r\\u0065quire('jsonify')",
    "require.cache[name].exports",
    "process.mainModule.constructor._load('jsonify')",
    "eval('req' + 'uire')('jsonify')",
    "new Function('return 1')()",
  ])("%s cannot be read, and is no migration unless it was there before", (source) => {
    expect(unreadableOf(source)).not.toEqual([]);
    const check = { type: "migration", absent: ["jsonify"], present: [] } as const;
    const files = { "index.js": `${source};\n` };
    expect(statuses(environmentOf("minimist", { "index.js": "" }), check, files)).toEqual([false]);
    expect(statuses(environmentOf("minimist", files), check, files)).toEqual([true]);
  });

  it.each([
    "typeof require === 'function'",
    "require.resolve('a')",
    "require.main === module",
    "({ require: 1 })",
  ])("%s imports nothing", (source) => expect(unreadableOf(source)).toEqual([]));

  it.each([
    ["importlib.import_module('old')", false],
    ["__import__('old.part')", false],
    ["importlib.import_module('o' + 'ld')", false],
    ["__import__(name)", false],
    ["getattr(importlib, 'import_' + 'module')('old')", false],
    ["load = __import__", false],
    ["exec('import ' + name)", false],
    ["importlib.import_module('new')", true],
    ["importlib.metadata.version('old')", true],
    ["re.compile('old').exec", true],
  ])("Python: %s is a migration off it: %s", (source, ok) => {
    const check = { type: "migration", absent: ["old"], present: [] } as const;
    const files = { "src/roman.py": `import importlib\n${source}\n` };
    expect(statuses(environmentOf("roman", { "src/roman.py": "" }), check, files)).toEqual([ok]);
  });

  it("of sources alone decide a migration", () => {
    const files = {
      ...{ "index.js": 'require("new")', "test/bool.js": 'require("old")', "bench.js": 'require("old")' },
    };
    const check = { type: "migration", absent: ["old"], present: ["new"] } as const;
    expect(statuses(environmentOf("minimist", files), check)).toEqual([true, true]);
    expect(statuses(environmentOf("minimist", { "index.js": 'require("old/x")' }), check)).toEqual([
      false,
      false,
    ]);
  });

  it("of Python are its parser's, relative ones from the root", () => {
    const files = {
      "src/roman.py": '"""import old"""\nfrom .inner import thing\nimport new.part as p\n',
      "src/tests.py": "import old\n",
    };
    const check = { type: "migration", absent: ["old"], present: ["new", "src.inner", "none"] } as const;
    expect(statuses(environmentOf("roman", files), check)).toEqual([true, true, true, false]);
  });
});

describe("an interval of the median", () => {
  it("has at least the confidence, by order statistics", () => {
    expect(interval([7, 1, 6, 2, 5, 3, 4], 0.98)).toEqual({ low: 1, high: 7, median: 4 });
    const twelve = Array.from({ length: 12 }, (_, i) => i + 1);
    expect(interval(twelve, 0.983)).toEqual({ low: 2, high: 11, median: 6.5 });
    expect(interval(twelve, 0.95)).toEqual({ low: 3, high: 10, median: 6.5 });
    expect(interval([3], 0.95)).toEqual({ low: 3, high: 3, median: 3 });
  });

  // As tables of the sign test have them: the ranks of a two-sided interval at 95 %, and what it covers.
  it.each([
    [5, 1, 5, 0.9375],
    [6, 1, 6, 0.9688],
    [9, 2, 8, 0.9609],
    [10, 2, 9, 0.9785],
    [15, 4, 12, 0.9648],
    [20, 6, 15, 0.9586],
    [25, 8, 18, 0.9567],
    [30, 10, 21, 0.9572],
    [50, 18, 33, 0.9672],
    [100, 40, 61, 0.9648],
  ])("of %i values runs from rank %i to rank %i", (n, low, high, coverage) => {
    const values = Array.from({ length: n }, (_, i) => i + 1);
    expect(interval(values, 0.95)).toMatchObject({ low, high });
    // The median lies between them unless fewer than `low` values are on one of its sides.
    const within = (from: number) => {
      let [ways, sum] = [1, 0];
      for (let i = 0; i <= n; i++) {
        if (i >= from && i <= n - from) sum += ways;
        ways = (ways * (n - i)) / (i + 1);
      }
      return sum / 2 ** n;
    };
    expect(within(low)).toBeCloseTo(coverage, 4);
    expect(within(low + 1)).toBeLessThan(0.95);
  });
});

describe("a check", () => {
  it("is refused where it cannot run, in one sentence that says what is needed", () => {
    const environment = environmentOf("minimist", { "index.js": "" });
    const image = { ...environment, image: { id: "sha256:0" } } as unknown as PreparedEnvironment;
    expect(checkOf(image, CANDIDATE, { type: "migration", absent: ["a"], present: [] })).toEqual({
      none: "a check of type migration needs an environment of Node, Python or Go without an image: minimist@1-0 is none",
    });
    const workload = { kind: "write", path: "bench/a.rb", content: "", encoding: "utf8" } as const;
    expect(checkOf(environment, CANDIDATE, { type: "performance", workload, minSpeedup: 2 })).toEqual({
      none: "check.workload: bench/a.rb is no script of Node, Python or Go",
    });
  });
});
