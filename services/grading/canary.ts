/**
 * A test file that must fail: it loads the sources as tests do and asserts what is false. A change that makes the test tool say "passed" whatever is
 * asserted, or prints a report of its own, says so here, too. Pure.
 */
import { basename } from "node:path";
import type { FileChange, TestCommand } from "../../core/task.ts";
import type { CatalogueEntry, PreparedEnvironment } from "../environments/types.ts";
import type { TestRunRequest, TestRunResult } from "./types.ts";

/** Assertions of every canary; each a test of its own in the report. */
const ASSERTIONS = 5;

interface Canary {
  readonly file: FileChange;
  readonly command: TestCommand;
}

/** What a canary is made of. */
export type CanaryEntry = Pick<CatalogueEntry, "framework" | "sources" | "tests">;

type Environment = Pick<PreparedEnvironment, "commands" | "image"> & { readonly entry: CanaryEntry };

/** `name`: letters and digits that the tested code cannot know beforehand. Undefined = none for this framework. */
export function canaryOf({ entry, commands, image }: Environment, name: string): Canary | undefined {
  const [first] = commands;
  // The commands of an image are its maker's, and so is what they load.
  if (first === undefined || image !== null) return undefined;
  const folder = `c${name}`;
  const made = (path: string, content: string, command: Partial<TestCommand>): Canary => ({
    file: { kind: "write", path, content, encoding: "utf8" },
    command: { ...first, ...command },
  });
  /** The environment's own command, told of another file. */
  const inPlaceOfTests = (path: string) => [
    ...first.argv.filter((word) => !entry.tests.includes(word)),
    path,
  ];
  switch (entry.framework) {
    case "tape": {
      const path = `${folder}/${basename(entry.tests[0] ?? "test.js")}`;
      return made(path, tape(entry), { scope: path, argv: ["node", path] });
    }
    case "mocha":
    case "node-test": {
      const path = `${folder}/canary.test.js`;
      return made(path, node(entry), { argv: inPlaceOfTests(path) });
    }
    case "pytest": {
      const path = `${folder}/test_${name}.py`;
      return made(path, python(entry, PYTEST), { argv: inPlaceOfTests(path) });
    }
    case "unittest": {
      const path = `test_${folder}.py`;
      return made(path, python(entry, UNITTEST), {
        scope: "",
        argv: ["python3", "-m", "unittest", "-v", path],
      });
    }
    default:
      return undefined;
  }
}

/** The same run with the canary in the place of the tests. */
export function canaryRun(request: TestRunRequest, { file, command }: Canary): TestRunRequest {
  const { environment, overlay } = request;
  return {
    ...request,
    environment: { ...environment, commands: [command] },
    overlay: [...overlay, file],
  };
}

/** Whether everything false was called so, by the report and by the exit code. */
export function toldTheTruth({
  report,
  contradictions,
}: Pick<TestRunResult, "report" | "contradictions">): boolean {
  const statuses = Object.values(report.statuses);
  return (
    report.complete &&
    contradictions.length === 0 &&
    statuses.length === ASSERTIONS &&
    statuses.every((status) => status === "failed")
  );
}

/** Relative to the canary's folder. What cannot be loaded by itself is not. */
const loadSources = ({ sources }: CanaryEntry): string =>
  sources
    .filter((path) => /\.c?js$/.test(path))
    .map((path) => `try { require(${JSON.stringify(`../${path}`)}); } catch (error) {}\n`)
    .join("");

/** Some packages know tape as tap. */
const tape = (entry: CanaryEntry): string => `var test;
try { test = require('tape'); } catch (error) { test = require('tap'); }
${loadSources(entry)}test('values', function (t) {
    t.plan(${ASSERTIONS});
    t.equal(1, 2);
    t.deepEqual([1], [2]);
    t.ok(false);
    t.notOk(true);
    t.throws(function () {});
});
`;

/** mocha gives its functions to every file. */
const node = (entry: CanaryEntry): string => `var assert = require('assert');
var it = ${entry.framework === "mocha" ? "globalThis.it" : "require('node:test').test"};
${loadSources(entry)}it('equal', function () { assert.equal(1, 2); });
it('strict', function () { assert.strictEqual('a', 'b'); });
it('deep', function () { assert.deepEqual([1], [2]); });
it('throws', function () { assert.throws(function () {}); });
it('error', function () { throw new Error('values'); });
`;

/** Modules by the names under which tests find them. */
const python = ({ sources }: CanaryEntry, tests: string): string => `import importlib
import sys
import unittest

for path in ${JSON.stringify(sources.filter((path) => path.endsWith(".py")))}:
    for folder in sorted({entry or '/repo' for entry in sys.path}, key=len, reverse=True):
        if ('/repo/' + path).startswith(folder + '/'):
            name = ('/repo/' + path)[len(folder) + 1:-3].replace('/', '.')
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
