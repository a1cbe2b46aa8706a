/** Tests that show nothing: they pass without the change, with half of it, or with any other; and solutions that do not pass theirs. */
import { writeText as file } from "../../../services/synthesis/changes.ts";
import {
  camelizeTest,
  EXPORTED,
  NO_COLON,
  NO_COLON_GOLD,
  SHALLOW,
  SHALLOW_GOLD,
  SHALLOW_TEST,
  STRICT,
  tested,
  VALUE,
} from "./seeds.ts";
import type { Faulty } from "./types.ts";

const golden = (to: string) => [{ path: "index.js", from: EXPORTED, to }];

export const VACUOUS: readonly Faulty[] = [
  {
    name: "asserts-true",
    wrong: "the test asserts that true is true",
    gate: "fail-to-pass",
    task: tested(SHALLOW, camelizeTest("shallow", ["t.ok(true);"])),
  },
  {
    name: "asserts-old-behaviour",
    wrong: "the test asks for what the package does already",
    gate: "fail-to-pass",
    task: tested(
      SHALLOW,
      camelizeTest("keys", ["t.deepEqual(camelize({ a_b: { c_d: 1 } }), { aB: { cD: 1 } });"]),
    ),
  },
  {
    name: "asserts-existence",
    wrong: "the test asks whether there is a function",
    gate: "fail-to-pass",
    task: tested(SHALLOW, camelizeTest("function", ["t.equal(typeof camelize, 'function');"])),
  },
  {
    name: "skipped",
    wrong: "the test is skipped",
    gate: "fail-to-pass",
    task: tested(SHALLOW, SHALLOW_TEST.replace("test('", "test.skip('")),
  },
  {
    name: "swallowed",
    wrong: "the assertion stands in a try that swallows what it throws",
    gate: "fail-to-pass",
    task: tested(
      SHALLOW,
      camelizeTest("shallow", [
        "try { require('assert').deepEqual(camelize({ a: { b_c: 1 } }, { shallow: true }), { a: { b_c: 1 } }); } catch (e) {}",
        "t.pass('no error');",
      ]),
    ),
  },
  {
    name: "compares-with-itself",
    wrong: "the test compares a result with the same result",
    gate: "fail-to-pass",
    task: tested(
      SHALLOW,
      camelizeTest("same", [
        "t.deepEqual(camelize({ a_b: 1 }, { shallow: true }), camelize({ a_b: 1 }, { shallow: true }));",
      ]),
    ),
  },
];

export const WEAK: readonly Faulty[] = [
  {
    name: "second-hunk-untested",
    wrong: "half of what is asked for, numbers in keys, is tested nowhere",
    gate: "wrong-solution",
    task: {
      ...SHALLOW,
      gold: [
        ...SHALLOW.gold,
        {
          path: "index.js",
          from: "if (isDate(obj) || isRegex(obj)) return obj;",
          to: "if (isDate(obj) || isRegex(obj) || Buffer.isBuffer(obj)) return obj;",
        },
      ],
    },
  },
  {
    name: "validation-untested",
    wrong: "the refusal of wrong options is tested nowhere",
    gate: "wrong-solution",
    task: {
      ...STRICT,
      gold: [
        ...STRICT.gold,
        {
          path: "index.js",
          from: "function camelCase(str) {\n",
          to: "function camelCase(str) {\n    if (typeof str === 'symbol') throw new TypeError('a symbol has no words');\n",
        },
      ],
    },
  },
  {
    name: "half-tested",
    wrong: "the second half of the only hunk is tested nowhere",
    gate: "wrong-solution",
    task: {
      ...NO_COLON,
      gold: [
        {
          ...{ path: "parse-headers.js", from: VALUE },
          to: `${NO_COLON_GOLD}        if (index === 0) return\n        if (key === 'undefined') return\n        if (value === 'undefined') return\n`,
        },
      ],
    },
  },
  {
    name: "any-change-passes",
    wrong: "the test asks whether the source has become longer",
    gate: "wrong-solution",
    task: tested(
      SHALLOW,
      camelizeTest("changed", [
        "var source = require('fs').readFileSync(require.resolve('../'), 'utf8');",
        "t.ok(source.trim().split('\\n').length > 59, 'shallow');",
      ]),
    ),
  },
  {
    name: "longer-source-passes",
    wrong: "the test asks for the first word of a comment anywhere in the source",
    gate: "wrong-solution",
    task: {
      ...tested(
        SHALLOW,
        camelizeTest("comment", [
          "var source = require('fs').readFileSync(require.resolve('../'), 'utf8');",
          "t.ok(/\\/\\//.test(source), 'shallow is explained');",
        ]),
      ),
      gold: golden(`// shallow: only the outermost keys\n${SHALLOW_GOLD}`),
    },
  },
];

export const BOUND: readonly Faulty[] = [
  {
    name: "last-line-of-source",
    wrong: "the test asks how the source ends",
    gate: "alternative",
    task: tested(
      SHALLOW,
      SHALLOW_TEST.replace(
        "    t.end();",
        "    var source = require('fs').readFileSync(require.resolve('../'), 'utf8');\n    t.ok(!/\\/\\/[^\\n]*\\s*$/.test(source), 'ends with code');\n    t.end();",
      ),
    ),
  },
];

export const WRONG_GOLD: readonly Faulty[] = [
  {
    name: "gold-fails",
    wrong: "the solution does not do what its tests ask for",
    gate: "gold",
    task: {
      ...SHALLOW,
      gold: golden(
        SHALLOW_GOLD.replace("acc[camelCase(key)] = obj[key]", "acc[camelCase(key)] = walk(obj[key])"),
      ),
    },
  },
  {
    name: "gold-is-empty",
    wrong: "the solution changes a comment",
    gate: "gold",
    task: { ...SHALLOW, gold: golden(`// shallow\n${EXPORTED}`) },
  },
  {
    name: "gold-breaks-others",
    wrong: "the solution breaks tests that passed: strings are no longer renamed",
    gate: "gold",
    task: {
      ...tested(
        SHALLOW,
        SHALLOW_TEST.replace("    t.equal(camelize('a_b', { shallow: true }), 'aB');\n", ""),
      ),
      gold: golden(SHALLOW_GOLD.replace("return camelCase(obj);", "return obj;")),
    },
  },
  {
    name: "gold-breaks-dates",
    wrong: "the solution breaks another behaviour: dates become objects",
    gate: "gold",
    task: {
      ...SHALLOW,
      gold: [
        ...SHALLOW.gold,
        {
          path: "index.js",
          from: "if (isDate(obj) || isRegex(obj)) return obj;",
          to: "if (isRegex(obj)) return obj;",
        },
      ],
    },
  },
  {
    name: "gold-throws",
    wrong: "the solution throws as it is loaded",
    gate: "gold",
    task: { ...SHALLOW, gold: golden(`${SHALLOW_GOLD}\nnowhere();\n`) },
  },
  {
    name: "gold-never-ends",
    wrong: "the solution never ends",
    gate: "gold",
    slow: true,
    task: {
      ...SHALLOW,
      gold: golden(
        SHALLOW_GOLD.replace("return reduce(objectKeys", "for (;;) {}\n    return reduce(objectKeys"),
      ),
    },
  },
  {
    name: "gold-weakens-tests",
    wrong: "the solution breaks strings and takes their tests away",
    gate: "gold",
    task: {
      ...SHALLOW,
      gold: [
        ...golden(SHALLOW_GOLD.replace("return camelCase(obj);", "return obj;")),
        {
          path: "test/camel.js",
          content: "var test = require('tape');\ntest('string', function (t) { t.plan(1); t.ok(true); });\n",
        },
      ],
      tests: [
        file(
          "test/shallow.js",
          SHALLOW_TEST.replace("    t.equal(camelize('a_b', { shallow: true }), 'aB');\n", ""),
        ),
      ],
    },
  },
  {
    name: "gold-needs-a-package",
    wrong: "the solution loads a package that is not there",
    gate: "gold",
    task: { ...SHALLOW, gold: golden(`var pick = require('lodash.pick');\n${SHALLOW_GOLD}`) },
  },
  {
    name: "gold-is-another",
    wrong: "a mutation whose solution is not what was there before",
    gate: "gold",
    task: {
      environment: "camelize",
      base: [{ path: "index.js", from: "return x.toUpperCase();", to: "return x.toLowerCase();" }],
      gold: [{ path: "index.js", from: "return x.toLowerCase();", to: "return x.toLocaleUpperCase();" }],
    },
  },
  {
    name: "gold-repairs-half",
    wrong: "a combination whose solution undoes one of its two changes",
    gate: "gold",
    task: {
      environment: "camelize",
      base: [
        { path: "index.js", from: "return x.toUpperCase();", to: "return x.toLowerCase();" },
        {
          path: "index.js",
          from: "if (isDate(obj) || isRegex(obj)) return obj;",
          to: "if (isDate(obj)) return obj;",
        },
      ],
      gold: [{ path: "index.js", from: "return x.toLowerCase();", to: "return x.toUpperCase();" }],
    },
  },
];
