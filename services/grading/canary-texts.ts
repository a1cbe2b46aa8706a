/** The texts of canaries (`canary.ts`), by test tool: each loads the sources, then asserts what is false. Pure. */
import { dirname } from "node:path";

/** Assertions of every canary; each a test of its own in the report. */
export const ASSERTIONS = 5;

type Sources = readonly string[];

/** Relative to the canary's folder. What cannot be loaded by itself is not. */
const requireAll = (sources: Sources, kind: RegExp): string =>
  sources
    .filter((path) => kind.test(path))
    .map((path) => `try { require(${JSON.stringify(`../${path}`)}); } catch (error) {}\n`)
    .join("");

const COMMON_JS = /\.c?js$/;
/** The tool translates them. */
const ANY_SCRIPT = /\.[cm]?[jt]sx?$/;

/** Some packages know tape as tap. */
const tape = (sources: Sources): string => `var test;
try { test = require('tape'); } catch (error) { test = require('tap'); }
${requireAll(sources, COMMON_JS)}test('values', function (t) {
    t.plan(${ASSERTIONS});
    t.equal(1, 2);
    t.deepEqual([1], [2]);
    t.ok(false);
    t.notOk(true);
    t.throws(function () {});
});
`;

const node = (sources: Sources, it: string): string => `var assert = require('assert');
var it = ${it};
${requireAll(sources, COMMON_JS)}it('equal', function () { assert.equal(1, 2); });
it('strict', function () { assert.strictEqual('a', 'b'); });
it('deep', function () { assert.deepEqual([1], [2]); });
it('throws', function () { assert.throws(function () {}); });
it('error', function () { throw new Error('values'); });
`;

const EXPECTATIONS = `test('equal', function () { expect(1).toBe(2); });
test('deep', function () { expect([1]).toEqual([2]); });
test('throws', function () { expect(function () {}).toThrow(); });
test('strict', function () { assert.strictEqual('a', 'b'); });
test('error', function () { throw new Error('values'); });
`;

const jest = (sources: Sources): string =>
  `var assert = require('assert');\n${requireAll(sources, ANY_SCRIPT)}${EXPECTATIONS}`;

const vitest = (sources: Sources): string => `import assert from 'node:assert';
import { expect, test } from 'vitest';
${sources
  .filter((path) => ANY_SCRIPT.test(path))
  .map((path) => `await import(${JSON.stringify(`../${path}`)}).catch(function () {});\n`)
  .join("")}${EXPECTATIONS}`;

/** Modules by the names under which tests find them. */
const python = (sources: Sources, tests: string): string => `import importlib
import os
import sys
import unittest

tree = os.getcwd() + '/'
for path in ${JSON.stringify(sources.filter((path) => path.endsWith(".py")))}:
    for folder in sorted({entry or tree[:-1] for entry in sys.path}, key=len, reverse=True):
        if (tree + path).startswith(folder + '/'):
            name = (tree + path)[len(folder) + 1:-3].replace('/', '.')
            try:
                importlib.import_module(name[:-9] if name.endswith('.__init__') else name)
            except Exception:
                pass
            break

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
const go = (sources: Sources, module: string): string => {
  const folders = new Set(sources.filter((path) => path.endsWith(".go")).map((path) => dirname(path)));
  const paths = [...folders].sort().map((folder) => (folder === "." ? module : `${module}/${folder}`));
  return `package values

import (
	"testing"
${paths.map((path) => `	_ ${JSON.stringify(path)}\n`).join("")})

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
};

export const CANARY_TEXTS = {
  tape,
  mocha: (sources: Sources) => node(sources, "globalThis.it"),
  "node-test": (sources: Sources) => node(sources, "require('node:test').test"),
  jest,
  vitest,
  pytest: (sources: Sources) => python(sources, PYTEST),
  unittest: (sources: Sources) => python(sources, UNITTEST),
  "go-test": go,
};
