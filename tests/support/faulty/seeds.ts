/** Good tasks that the faulty ones are made from by changing one part; each of them passes all gates. */
import type { AuthoredText, StructuralAssertion } from "../../../core/task.ts";
import { writeText as file } from "../../../services/synthesis/changes.ts";
import type { Authored } from "../authored/index.ts";

export const EXPORTED = `module.exports = function(obj) {
    if (typeof obj === 'string') return camelCase(obj);
    return walk(obj);
};
`;

export const SHALLOW_GOLD = `module.exports = function(obj, opts) {
    if (typeof obj === 'string') return camelCase(obj);
    if (opts && opts.shallow) return outermost(obj);
    return walk(obj);
};

function outermost (obj) {
    if (!obj || typeof obj !== 'object' || isArray(obj)) return obj;
    return reduce(objectKeys(obj), function (acc, key) {
        acc[camelCase(key)] = obj[key];
        return acc;
    }, {});
}
`;

export const SHALLOW_TEST = `var test = require('tape');
var camelize = require('../');

test('inner objects keep their keys', function (t) {
    t.deepEqual(camelize({ a_b: { c_d: 1 } }, { shallow: true }), { aB: { c_d: 1 } });
    t.deepEqual(camelize({ a_b: { c_d: 1 } }), { aB: { cD: 1 } });
    t.deepEqual(camelize([{ a_b: 1 }], { shallow: true }), [{ a_b: 1 }], 'arrays are left as they are');
    t.equal(camelize(null, { shallow: true }), null);
    t.equal(camelize('a_b', { shallow: true }), 'aB');
    t.end();
});
`;

export const SHALLOW: Authored = {
  name: "shallow",
  environment: "camelize",
  type: "feature",
  text: {
    title: "camelize: rename the keys of the outermost object alone",
    body: "Objects that hold what their users made come out changed inside. There is no way to leave the inner ones alone.",
    contract:
      "With the option `shallow: true` the keys of the outermost object are renamed, and nothing below it; an array is given back as it is. Strings are renamed as before.",
  },
  gold: [
    {
      path: "index.js",
      from: EXPORTED,
      to: SHALLOW_GOLD,
    },
  ],
  tests: [file("test/shallow.js", SHALLOW_TEST)],
  site: { file: "index.js", functionName: "walk", line: 6 },
};

export const STRICT_GOLD = `${EXPORTED}
module.exports.strict = function (obj) {
    if (typeof obj === 'string') return camelCase(obj);
    check(obj);
    return walk(obj);
};

function check (obj) {
    if (!obj || typeof obj !== 'object') return;
    var seen = {};
    objectKeys(obj).forEach(function (key) {
        var camel = camelCase(key);
        if (has.call(seen, camel)) throw new RangeError('two keys become ' + camel);
        seen[camel] = true;
        check(obj[key]);
    });
}
`;

export const STRICT: Authored = {
  name: "strict",
  environment: "camelize",
  type: "feature",
  text: {
    title: "camelize: refuse keys that come out equal",
    body: "When two keys of an object come out as the same one, the value of the first is lost and nobody notices.",
    contract:
      "`camelize.strict(obj)` is `camelize(obj)`, but throws a RangeError whose message is `two keys become ` followed by the key where that happens.",
  },
  gold: [
    {
      path: "index.js",
      from: EXPORTED,
      to: STRICT_GOLD,
    },
  ],
  tests: [
    file(
      "test/strict.js",
      `var test = require('tape');
var camelize = require('../');

test('equal keys are refused', function (t) {
    t.throws(function () { camelize.strict({ a_b: 1, 'a-b': 2 }); }, /two keys become aB/);
    t.throws(function () { camelize.strict([{ x: { a_b: 1, aB: 2 } }]); }, RangeError);
    t.deepEqual(camelize.strict({ a_b: 1, c_d: [{ e_f: 2 }] }), { aB: 1, cD: [{ eF: 2 }] });
    t.equal(camelize.strict('a_b'), 'aB');
    t.equal(camelize.strict(null), null);
    t.end();
});
`,
    ),
  ],
  site: { file: "index.js", functionName: "walk", line: 6 },
};

export const VALUE = "          , value = trim(row.slice(index + 1))\n";
export const NO_COLON_GOLD = `${VALUE}\n        if (index === -1) return\n`;

export const NO_COLON: Authored = {
  name: "no-colon",
  environment: "parse-headers",
  type: "bug",
  text: {
    title: "parse-headers: a line without a colon becomes a header",
    body: "Some servers send lines that are no headers. They come out under a name that lacks its last letter.",
    contract: "A line without a colon is left out.",
  },
  gold: [
    {
      path: "parse-headers.js",
      from: VALUE,
      to: NO_COLON_GOLD,
    },
  ],
  tests: [
    file(
      "test-colon.js",
      `var test = require('tape')
  , parse = require('./parse-headers')

test('lines without a colon', function (t) {
  t.deepEqual(parse('Date: now\\nnonsense\\nAge: 3'), { date: 'now', age: '3' })
  t.deepEqual(parse('nonsense'), {})
  t.deepEqual(parse('Date:'), { date: '' })
  t.end()
})
`,
    ),
  ],
  site: { file: "parse-headers.js", functionName: "<anonymous>", line: 13 },
};

export const ONE_TAG_STRUCTURE: readonly StructuralAssertion[] = [
  { kind: "defines", file: "index.js", symbol: "tagOf" },
  { kind: "calls", file: "index.js", symbol: "tagOf", from: "isDate", atLeast: 1 },
  { kind: "calls", file: "index.js", symbol: "tagOf", from: "isRegex", atLeast: 1 },
];

export const ONE_TAG: Authored = {
  name: "one-tag",
  environment: "camelize",
  type: "refactor",
  text: {
    title: "camelize: one place that asks what kind of object it is",
    body: "Three helpers ask in the same words which kind of object they are given.",
    contract:
      "A function `tagOf` in `index.js` returns what `Object.prototype.toString` says; `isDate` and `isRegex` call it.",
  },
  gold: [
    {
      path: "index.js",
      from: `var isDate = function (obj) {
    return Object.prototype.toString.call(obj) === '[object Date]';
};

var isRegex = function (obj) {
    return Object.prototype.toString.call(obj) === '[object RegExp]';
};
`,
      to: `function tagOf (obj) {
    return Object.prototype.toString.call(obj);
}

var isDate = function (obj) {
    return tagOf(obj) === '[object Date]';
};

var isRegex = function (obj) {
    return tagOf(obj) === '[object RegExp]';
};
`,
    },
  ],
  check: {
    type: "refactor",
    structure: ONE_TAG_STRUCTURE,
  },
  site: { file: "index.js", functionName: "isDate", line: 28 },
};

export const OWN_TRIM: Authored = {
  name: "own-trim",
  environment: "parse-headers",
  type: "migration",
  text: {
    title: "parse-headers: do without the package trim",
    body: "Every engine trims strings by itself.",
    contract: "No source imports `trim` any more.",
  },
  gold: [
    {
      path: "parse-headers.js",
      from: "var trim = require('trim')\n  , forEach",
      to: "var trim = function (text) { return String(text).trim() }\n  , forEach",
    },
  ],
  check: { type: "migration", absent: ["trim"], present: [] },
  site: { file: "parse-headers.js", functionName: "<module>", line: 1 },
};

export const SEEDS = [SHALLOW, STRICT, NO_COLON, ONE_TAG, OWN_TRIM] as const;

/** The task with other words. */
export function worded(task: Authored, text: Partial<AuthoredText>): Authored {
  return { ...task, text: { ...task.text, ...text } };
}

/** The task with other tests in its one test file. */
export function tested(task: Authored, source: string): Authored {
  const [test] = task.tests ?? [];
  return { ...task, tests: [file(test!.path, source)] };
}

/** Lines of tape for the package under test. */
export const camelizeTest = (name: string, lines: readonly string[]): string =>
  [
    "var test = require('tape');",
    "var camelize = require('../');",
    "",
    `test('${name}', function (t) {`,
    ...lines.map((line) => `    ${line}`),
    "    t.end();",
    "});",
    "",
  ].join("\n");
