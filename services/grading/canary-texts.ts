/** The texts of canaries (`canary.ts`), by test tool: each loads the sources, then asserts what is false; nothing where none could be loaded. Pure. */

/** Assertions of every canary; each a test of its own in the report. */
export const ASSERTIONS = 5;

export interface Loading {
  /** Those that are in the graded tree. */
  readonly sources: readonly string[];
  /** The canary is an ES module, which can load both kinds. */
  readonly isModule: boolean;
  /** A source that ends the process as it is loaded does not: programs do so, and so does what prints a report of its own before. */
  readonly keepsExits: boolean;
}

const COMMON_JS = /\.c?js$/;
/** The tool, or Node, translates them. */
const ANY_SCRIPT = /\.[cm]?[jt]sx?$/;

const KEEP_EXITS = `var exit = process.exit;
process.exit = function () { throw new Error('exit'); };
`;

/** Paths are relative to the canary's folder. What cannot be loaded by itself is not. */
function loadAll({ sources, isModule, keepsExits }: Loading, kind: RegExp, load: (path: string) => string) {
  const loads = sources
    .filter((path) => (isModule ? ANY_SCRIPT : kind).test(path))
    .map((path) => `${load(JSON.stringify(`../${path}`))}\n`);
  return `var loaded = 0;\n${keepsExits ? KEEP_EXITS : ""}${loads.join("")}${keepsExits ? "process.exit = exit;\n" : ""}`;
}

const requireOne = (path: string): string => `try { require(${path}); loaded++; } catch (error) {}`;

const importOne = (path: string): string =>
  `await import(${path}).then(function () { loaded++; }, function () {});`;

/** Hooks of `require` translate what Node itself does not. */
const importOrRequire = (path: string): string =>
  `try { await import(${path}); loaded++; } catch (error) { ${requireOne(path)} }`;

/** For the tools that load files as Node does. */
const loadByNode = (loading: Loading): string =>
  loadAll(loading, COMMON_JS, loading.isModule ? importOrRequire : requireOne);

const head = ({ isModule }: Loading): string =>
  isModule
    ? "import { createRequire } from 'node:module';\nvar require = createRequire(import.meta.url);\n"
    : "";

const whereLoaded = (tests: string): string => `if (loaded > 0) {\n${tests}}\n`;

/** Some packages know tape as tap. */
const tape = (loading: Loading): string => `${head(loading)}var test;
try { test = require('tape'); } catch (error) { test = require('tap'); }
${loadByNode(loading)}${whereLoaded(`test('values', function (t) {
    t.plan(${ASSERTIONS});
    t.equal(1, 2);
    t.deepEqual([1], [2]);
    t.ok(false);
    t.notOk(true);
    t.throws(function () {});
});
`)}`;

/**
 * What registers tests is looked up when the sources are loaded: they may have replaced it. Assertions come in several objects; a test passes
 * as soon as one of them accepts what is false.
 */
const node = (loading: Loading, it: string): string => `${head(loading)}var assert = require('assert');
function refused(names, values) {
  return function () {
    var last, objects = [assert, assert.strict, arguments[0] && arguments[0].assert];
    for (var object of objects) for (var name of names) {
      if (!object || !object[name]) continue;
      try { object[name].apply(object, values); } catch (error) { last = error; continue; }
      return;
    }
    throw last;
  };
}
${loadByNode(loading)}var it = ${it};
${whereLoaded(`it('equal', refused(['equal'], [1, 2]));
it('strict', refused(['strictEqual'], ['a', 'b']));
it('deep', refused(['deepEqual', 'deepStrictEqual'], [[1], [2]]));
it('throws', refused(['throws'], [function () {}]));
it('error', function () { throw new Error('values'); });
`)}`;

const EXPECTATIONS = whereLoaded(`test('equal', function () { expect(1).toBe(2); });
test('deep', function () { expect([1]).toEqual([2]); });
test('throws', function () { expect(function () {}).toThrow(); });
test('strict', function () { assert.strictEqual('a', 'b'); });
test('error', function () { throw new Error('values'); });
`);

const jest = (loading: Loading): string =>
  `var assert = require('assert');\n${loadAll(loading, ANY_SCRIPT, requireOne)}${EXPECTATIONS}`;

const vitest = (loading: Loading): string => `import assert from 'node:assert';
import { expect, test } from 'vitest';
${loadAll(loading, ANY_SCRIPT, importOne)}${EXPECTATIONS}`;

/** Modules by the names under which tests find them. */
const python = ({ sources }: Loading, tests: string): string => `import importlib
import os
import sys
import unittest

tree = os.getcwd() + '/'
loaded = 0
for path in ${JSON.stringify(sources.filter((path) => path.endsWith(".py")))}:
    for folder in sorted({entry or tree[:-1] for entry in sys.path}, key=len, reverse=True):
        if (tree + path).startswith(folder + '/'):
            name = (tree + path)[len(folder) + 1:-3].replace('/', '.')
            try:
                importlib.import_module(name[:-9] if name.endswith('.__init__') else name)
                loaded += 1
            except BaseException:
                pass
            break
if loaded == 0:
    raise unittest.SkipTest('values')

${tests}`;

const PYTEST = `
def test_equal():
    assert 1 == 2

def test_raise():
    raise AssertionError('values')

def test_contains():
    assert 'a' in ['b']

class TestValues:
    def test_false(self):
        assert not [1]

class TestCase(unittest.TestCase):
    def test_equal(self):
        self.assertEqual([1], [2])
`;

const UNITTEST = `
class TestValues(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(1, 2)

    def test_true(self):
        self.assertTrue(False)

    def test_raises(self):
        with self.assertRaises(ValueError):
            pass

    def test_in(self):
        self.assertIn('a', ['b'])

    def test_statement(self):
        assert 1 == 2
`;

/** A package of its own, whose program holds those of the sources: their `init` functions run before its tests do. */
const go = (packages: readonly string[]): string => `package values

import (
	"testing"
${packages.map((path) => `	_ ${JSON.stringify(path)}\n`).join("")})

func TestEqual(t *testing.T) {
	if 1 != 2 {
		t.Error("1 != 2")
	}
}

func TestFatal(t *testing.T) { t.Fatal("values") }

func TestFail(t *testing.T) { t.Fail() }

func TestFailNow(t *testing.T) { t.FailNow() }

func TestErrorf(t *testing.T) { t.Errorf("%v", []int{1}) }
`;

export const CANARY_TEXTS = {
  tape,
  mocha: (loading: Loading) => node(loading, "globalThis.it"),
  "node-test": (loading: Loading) => node(loading, "require('node:test').test"),
  jest,
  vitest,
  pytest: (loading: Loading) => python(loading, PYTEST),
  unittest: (loading: Loading) => python(loading, UNITTEST),
  "go-test": go,
};
