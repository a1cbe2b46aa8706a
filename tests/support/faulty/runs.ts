/** Trees that do not load, do not end, differ from run to run, or are broken only to look at. */

import { camelizeTest, EXPORTED, SHALLOW, tested } from "./seeds.ts";
import type { Faulty } from "./types.ts";

const broken = (from: string, to: string, functionName = "camelCase") => ({
  environment: "camelize",
  base: [{ path: "index.js", from, to }],
  functionName,
});
const UPPER = "return x.toUpperCase();";

export const UNBUILT: readonly Faulty[] = [
  {
    name: "does-not-parse",
    wrong: "the broken source does not parse",
    gate: "build",
    task: broken(UPPER, "return x.toUpperCase(;"),
  },
  {
    name: "does-not-load",
    wrong: "the broken source loads what is not there",
    gate: "build",
    task: broken(EXPORTED, `require('./nowhere');\n${EXPORTED}`, "<module>"),
  },
  {
    name: "throws-at-once",
    wrong: "the broken source throws as it is loaded",
    gate: "build",
    task: broken(EXPORTED, `nowhere();\n${EXPORTED}`, "<module>"),
  },
  {
    name: "test-does-not-parse",
    wrong: "the hidden test does not parse",
    gate: "build",
    task: tested(SHALLOW, "var test = require('tape');\ntest('x', function (t) {\n"),
  },
  {
    name: "gold-does-not-parse",
    wrong: "the solution does not parse",
    gate: "build",
    task: { ...SHALLOW, gold: [{ path: "index.js", from: EXPORTED, to: `${EXPORTED}}` }] },
  },
];

export const ENDLESS: readonly Faulty[] = [
  {
    name: "loops-at-once",
    wrong: "the broken source never ends as it is loaded",
    gate: "ends",
    task: broken(EXPORTED, `for (;;) {}\n${EXPORTED}`, "<module>"),
  },
  {
    name: "loops-when-called",
    wrong: "the broken function never ends",
    gate: "ends",
    task: broken(UPPER, "while (x) {}\n        return x;"),
  },
  {
    name: "waits-for-ever",
    wrong: "the hidden test waits for what never comes on the base tree",
    gate: "ends",
    slow: true,
    task: tested(
      SHALLOW,
      camelizeTest("shallow", [
        "while (camelize({ a: { b_c: 1 } }, { shallow: true }).a.b_c !== 1) {}",
        "t.ok(true, 'shallow');",
      ]),
    ),
  },
];

/** So many coins that they never fall alike twice. */
const COINS = 40;
const flips = (coin: string) => ({
  ...tested(
    SHALLOW,
    camelizeTest("shallow", [
      `for (var i = 0; i < ${COINS}; i++) t.deepEqual(camelize({ a: { b_c: 1 } }, { shallow: true }), { a: { b_c: 1 } });`,
    ]),
  ),
  base: [
    {
      path: "index.js",
      from: "return walk(obj);\n};",
      to: `if (${coin}) return obj;\n    return walk(obj);\n};`,
    },
  ],
  gold: [
    {
      path: "index.js",
      from: `function(obj) {\n    if (typeof obj === 'string') return camelCase(obj);\n    if (${coin}) return obj;`,
      to: "function(obj, opts) {\n    if (typeof obj === 'string') return camelCase(obj);\n    if (opts && opts.shallow) return obj;",
    },
  ],
});

export const FLAKY: readonly Faulty[] = [
  {
    name: "flips-a-coin",
    wrong: "the base tree solves it now and then",
    gate: "stability",
    task: flips("require('crypto').randomInt(2) === 0"),
  },
  {
    name: "asks-the-clock",
    wrong: "the base tree goes by the clock",
    gate: "stability",
    task: flips("process.hrtime.bigint() / 64n % 2n === 0n"),
  },
  {
    name: "asks-for-random-bytes",
    wrong: "the base tree goes by random bytes",
    gate: "stability",
    task: flips("require('crypto').randomBytes(1)[0] > 99"),
  },
  {
    name: "test-flips-a-coin",
    wrong: "the hidden test fails on the base tree now and then",
    gate: "stability",
    task: tested(
      SHALLOW,
      camelizeTest("shallow", [
        "var isShallow = camelize({ a: { b_c: 1 } }, { shallow: true }).a.b_c === 1;",
        `for (var i = 0; i < ${COINS}; i++) t.ok(isShallow || require('crypto').randomInt(2) === 0);`,
        "t.ok(isShallow);",
      ]),
    ),
  },
  {
    name: "gold-flips-a-coin",
    wrong: "the solution works now and then",
    gate: "gold",
    task: {
      ...tested(
        SHALLOW,
        camelizeTest("shallow", [
          `for (var i = 0; i < ${COINS}; i++) t.deepEqual(camelize({ a: { b_c: 1 } }, { shallow: true }), { a: { b_c: 1 } });`,
        ]),
      ),
      gold: [
        {
          path: "index.js",
          from: "function(obj) {\n",
          to: "function(obj, opts) {\n    if (opts && opts.shallow && require('crypto').randomInt(2) === 0) return obj;\n",
        },
      ],
    },
  },
];

export const UNBROKEN: readonly Faulty[] = [
  {
    name: "white-space",
    wrong: "the mutation is a blank",
    gate: "fail-to-pass",
    task: broken(UPPER, `${UPPER} `),
  },
  {
    name: "equal-meaning",
    wrong: "the mutation means the same",
    gate: "fail-to-pass",
    task: broken("typeof obj === 'string'", "'string' === typeof obj", "<module>"),
  },
  {
    name: "dead-code",
    wrong: "the mutation is in a branch that no engine takes",
    gate: "fail-to-pass",
    task: broken("res.push(f(xs[i], i));", "res.push(f(xs[i], i + 1));", "map"),
  },
  {
    name: "untested-code",
    wrong: "the mutation breaks what no test looks at",
    gate: "fail-to-pass",
    task: broken("/[_.-](\\w|$)/g", "/[_.-](\\w)/g"),
  },
  {
    name: "half-a-combination",
    wrong: "one of the two changes breaks nothing",
    gate: "fail-to-pass",
    task: {
      environment: "camelize",
      base: [
        { path: "index.js", from: UPPER, to: "return x.toLowerCase();" },
        { path: "index.js", from: "res.push(f(xs[i], i));", to: "res.push(f(xs[i]));" },
      ],
      parts: [
        [{ path: "index.js", from: UPPER, to: "return x.toLowerCase();" }],
        [{ path: "index.js", from: "res.push(f(xs[i], i));", to: "res.push(f(xs[i]));" }],
      ],
    },
  },
];

export const SOLVED: readonly Faulty[] = [
  {
    name: "breaks-a-test",
    wrong: "what is broken is a test file, which grading puts back",
    gate: "fail-to-pass",
    task: {
      environment: "camelize",
      base: [
        { path: "test/camel.js", from: "camelize('one_two'), 'oneTwo'", to: "camelize('one_two'), 'OneTwo'" },
      ],
    },
  },
  {
    name: "empties-a-test",
    wrong: "the base tree's own test file holds one of its tests only",
    gate: "fail-to-pass",
    task: {
      environment: "camelize",
      base: [
        {
          path: "test/camel.js",
          content:
            "var test = require('tape');\nvar camelize = require('../');\ntest('string', function (t) {\n    t.plan(1);\n    t.equal(camelize('one_two'), 'oneTwo');\n});\n",
        },
      ],
    },
  },
];

export const UNREPRODUCED: readonly Faulty[] = [
  {
    name: "no-call-shows-it",
    wrong: "only an object's identity tells the two trees apart, and no printed line does",
    gate: "reproduction",
    task: broken(
      "if (isDate(obj) || isRegex(obj)) return obj;",
      "if (isDate(obj)) return new Date(obj);\n    if (isRegex(obj)) return obj;",
      "walk",
    ),
  },
];
