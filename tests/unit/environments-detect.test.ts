/** How a tree is tested, found out from the shapes that real packages have: their manifests, their folders. */
import { describe, expect, it } from "vitest";
import { type DetectOptions, detect, loadedPackages } from "../../services/environments/detect.ts";

const tree = (files: Readonly<Record<string, string | object>>) =>
  new Map(
    Object.entries(files).map(([path, text]) => [
      path,
      Buffer.from(typeof text === "string" ? text : JSON.stringify(text)),
    ]),
  );
const found = (files: Readonly<Record<string, string | object>>, options: DetectOptions = {}) =>
  detect("it", tree(files), options);

describe("a package of Node", () => {
  const framework = (manifest: object) =>
    found({ "package.json": manifest, "index.js": "", "test/index.js": "" }).framework;

  it.each([
    // text-table, minimist, fast-content-type-parse, complex.js, no-case, mitt, in the words of their manifests.
    [{ scripts: { test: "tap test/*.js" }, devDependencies: { tap: "~0.4.0", tape: "~1.0.2" } }, "tape"],
    [{ scripts: { "tests-only": "nyc tape 'test/**/*.js'" }, devDependencies: { tape: "^5.6.3" } }, "tape"],
    [{ scripts: { test: "npm run test:unit", "test:unit": "c8 --100 node --test" } }, undefined],
    [{ scripts: { test: "c8 --100 node --experimental-x --test test/" } }, "node-test"],
    [{ scripts: { test: "mocha tests/*.js" }, devDependencies: { mocha: "*" } }, "mocha"],
    [{ scripts: { test: "npm run build && npm run specs" }, devDependencies: { jest: "^24.9.0" } }, "jest"],
    [{ scripts: { test: "vitest run --coverage" }, devDependencies: { jest: "1", mocha: "1" } }, "vitest"],
    [{ dependencies: { mocha: "1" }, devDependencies: { vitest: "1" } }, "vitest"],
  ])("is tested as its test script, else its dependencies say: %j", (manifest, expected) => {
    if (expected !== undefined) expect(framework(manifest)).toBe(expected);
    else expect(() => framework(manifest)).toThrow(/^it: neither .* name one by --framework/);
  });

  it("takes a framework that it is told for what the manifest says", () => {
    const files = { "package.json": { scripts: { test: "mocha" } }, "index.js": "", "test.js": "" };
    expect(found(files, { framework: "tape" })).toMatchObject({ framework: "tape", tests: ["test.js"] });
  });

  it("tells sources from tests, from what is neither, and from second copies of the sources", () => {
    const files = [
      ...["index.js", "lib/parse.ts", "lib/parse.test.ts", "src/a.spec.mjs", "test/b.js", "__tests__/c.tsx"],
      ...["test/fixtures/d.js", "test/helpers/e.js", "bench/f.js", "examples/g.js", "vite.config.ts"],
      ...["dist/index.js", "it.min.js", "index.js.map", "index.d.ts", ".eslintrc.js", "README.md"],
    ];
    const manifest = { "package.json": { scripts: { test: "vitest" } } };
    const { sources, tests, omit } = found({
      ...manifest,
      ...Object.fromEntries(files.map((path) => [path, ""])),
    });
    expect(sources).toEqual(["index.js", "lib/parse.ts"]);
    expect(tests).toEqual(["lib/parse.test.ts", "src/a.spec.mjs", "test/b.js", "__tests__/c.tsx"]);
    expect(omit).toEqual(["dist/index.js", "it.min.js", "index.js.map"]);
  });

  it("keeps what is built where it is the source, as no-case ships it", () => {
    const files = {
      "package.json": { scripts: { test: "jest" } },
      ...{ "dist/index.js": "", "dist/index.spec.js": "", "dist.es2015/index.js": "" },
    };
    expect(found(files, { sources: ["dist/*.js"] })).toMatchObject({
      ...{ sources: ["dist/index.js"], tests: ["dist/index.spec.js"], omit: [] },
    });
  });

  it("says what is wrong with a manifest that is none", () => {
    const files = { "package.json": "{", "index.js": "", "test.js": "" };
    expect(() => found(files)).toThrow(/^it: package\.json: .*JSON/);
  });
});

describe("a package of Python", () => {
  const HASHIDS = { "hashids.py": "", "setup.py": "", "test/test_hashids.py": "import pytest\n" };

  it.each([
    ["pytest where a test imports it", HASHIDS, "pytest"],
    [
      "unittest where nothing names another",
      { ...HASHIDS, "test/test_hashids.py": "import unittest\n" },
      "unittest",
    ],
    [
      "pytest where a setting names it",
      { ...HASHIDS, "test/test_hashids.py": "", "pyproject.toml": "[tool.pytest.ini_options]\n" },
      "pytest",
    ],
    [
      "unittest where only a source imports pytest",
      { ...HASHIDS, "test/test_hashids.py": "", "hashids.py": "import pytest\n" },
      "unittest",
    ],
  ])("is tested by %s", (_, files, expected) => {
    expect(found(files)).toMatchObject({ framework: expected, tests: ["test"], sources: ["hashids.py"] });
  });

  it("names test files one by one where they lie beside the sources", () => {
    const files = { "munkres.py": "", "setup.py": "", "test_munkres.py": "", "docs/conf.py": "" };
    expect(found(files)).toMatchObject({ sources: ["munkres.py"], tests: ["test_munkres.py"] });
  });

  it("takes no tests of a package inside the sources for sources", () => {
    const files = { "src/p/a.py": "", "src/p/tests/test_a.py": "", "src/p/tests/util.py": "" };
    expect(found(files)).toMatchObject({ sources: ["src/p/a.py"], tests: ["src/p/tests/test_a.py"] });
  });
});

describe("a module of Go", () => {
  it("is tested by go test whatever else is there, testdata with its tests", () => {
    const files = {
      ...{ "go.mod": "module example.org/m\n", "package.json": "{}", "m.go": "", "m_test.go": "" },
      ...{ "testdata/x.go": "", "vendor/v/v.go": "", "internal/i.go": "", "examples/e.go": "" },
    };
    expect(found(files)).toEqual({
      framework: "go-test",
      sources: ["m.go", "internal/i.go"],
      tests: ["m_test.go", "testdata/x.go"],
      omit: [],
    });
  });
});

describe("what cannot be found out", () => {
  it.each<[string, Record<string, string>, DetectOptions, RegExp]>([
    [
      "a language",
      { Makefile: "" },
      {},
      /expected a go\.mod, a package\.json or Python files.*--test and --format/,
    ],
    [
      "tests",
      { "package.json": "{}", "index.js": "" },
      {},
      /--tests: expected files of tests, found no test files under the usual names/,
    ],
    ["sources", { "package.json": "{}", "test.js": "" }, {}, /found no sources; name them by --sources/],
    [
      "tests by a glob",
      { "a.py": "" },
      { tests: ["spec/**"] },
      /--tests: expected globs that match files of tests, found no test files that match spec/,
    ],
  ])("is named with the option that helps: %s", (_, files, options, message) => {
    expect(() => found(files, options)).toThrow(message);
    expect(() => found(files, options)).toThrow(expect.objectContaining({ kind: "unknown" }));
  });

  it("is not needed for a command of one's own with sources and tests", () => {
    const test = { argv: ["make", "check"], format: "tap", reportFile: null } as const;
    const files = { "a.c": "", "t/a.c": "", ".git/config": "", Makefile: "" };
    expect(found(files, { test, sources: ["**/*.c"], tests: ["t/**"] })).toEqual({
      ...{ framework: "command", sources: ["a.c"], tests: ["t/a.c"], omit: [], test },
    });
  });
});

describe("loadedPackages", () => {
  it("finds what is required or imported by a literal, and no path", () => {
    const files = tree({
      "test/a.js": "const a = require('tape'), b = require(name), c = require('./c');",
      "test/b.mjs": "import x from \"@scope/pkg/deep\";\nawait import('lodash/get');\nexport { y } from 'y';",
      "index.js": "require('not-counted')",
      "test/c.txt": "require('text')",
    });
    const names = loadedPackages(files, (path) => path.startsWith("test/"));
    expect([...names].sort()).toEqual(["@scope/pkg", "lodash", "tape", "y"]);
  });
});
