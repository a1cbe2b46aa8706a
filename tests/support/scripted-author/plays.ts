/** What the scripted author plays: tasks of its own, and the hand-made ones. */
import { AUTHORED, type Authored } from "../authored/index.ts";
import { file } from "../authored/types.ts";

const tape = (lines: string): string => `'use strict';

var parse = require('../');
var test = require('tape');

${lines}`;

const OWN: readonly Authored[] = [
  {
    name: "nested-again",
    environment: "minimist",
    type: "bug",
    site: { file: "index.js", functionName: "setKey", line: 78 },
    gold: [],
    base: [
      {
        path: "index.js",
        from: "		if (o[lastKey] === undefined || flags.bools[lastKey] || typeof o[lastKey] === 'boolean') {",
        to: "		var nested = keys.length > 1;\n		if (nested || o[lastKey] === undefined || flags.bools[lastKey] || typeof o[lastKey] === 'boolean') {",
      },
    ],
    tests: [
      file(
        "test/repeated_dotted.js",
        tape(`test('values of a repeated nested option are all kept', function (t) {
	var argv = parse(['--server.port', '80', '--server.port', '81']);
	t.deepEqual(argv.server.port, [80, 81]);
	t.end();
});

test('three values of a nested option stay in their order', function (t) {
	var argv = parse(['--a.b.c', 'x', '--a.b.c', 'y', '--a.b.c', 'z']);
	t.deepEqual(argv.a.b.c, ['x', 'y', 'z']);
	t.end();
});
`),
      ),
    ],
    text: {
      title: "A nested option given more than once loses its earlier values",
      body: "Giving `--port 80 --port 81` yields both values as a list. Giving `--server.port 80 --server.port 81` yields 81 alone: the earlier value is lost without a word.",
      contract:
        "An option whose name has dots collects the values of all its occurrences in an array, in the order of the command line, as one without dots does.",
    },
  },
  {
    name: "numbers-off",
    environment: "minimist",
    type: "feature",
    site: { file: "index.js", functionName: "setArg", line: 114 },
    gold: [
      {
        path: "index.js",
        from: "		var value = !flags.strings[key] && isNumber(val)\n			? Number(val)\n			: val;",
        to: "		var value = opts.numbers !== false && !flags.strings[key] && isNumber(val)\n			? Number(val)\n			: val;",
      },
      {
        path: "index.js",
        from: "				argv._.push(flags.strings._ || !isNumber(arg) ? arg : Number(arg));",
        to: "				var isText = opts.numbers === false || flags.strings._ || !isNumber(arg);\n				argv._.push(isText ? arg : Number(arg));",
      },
    ],
    tests: [
      file(
        "test/numbers_off.js",
        tape(`test('with numbers: false the values of options stay text', function (t) {
	var argv = parse(['--zip', '00501', '-n5', '--x=1e3'], { numbers: false });
	t.equal(argv.zip, '00501');
	t.equal(argv.n, '5');
	t.equal(argv.x, '1e3');
	t.end();
});

test('with numbers: false the values without an option stay text', function (t) {
	t.deepEqual(parse(['007', 'bond'], { numbers: false })._, ['007', 'bond']);
	t.end();
});

test('without it numbers are numbers', function (t) {
	t.deepEqual(parse(['--n', '5', '7']), { n: 5, _: [7] });
	t.end();
});
`),
      ),
    ],
    text: {
      title: "Let callers keep values that look like numbers as text",
      body: "Post codes and serial numbers with leading zeros are damaged, because every value that looks like a number becomes one. Naming each option in `string` is no help where the names are not known before. There should be an option that turns the conversion off.",
      contract:
        "With `opts.numbers` set to `false` no value is converted to a number: neither those of options, however they are given, nor those in `_`. Anything else, or nothing, leaves the behaviour as it is.",
    },
  },
  {
    name: "without-dequal",
    environment: "merge-json-schemas",
    type: "migration",
    text: {
      title: "merge-json-schemas: compare values with what Node has",
      body: "Node compares nested values by itself, strictly, since many versions. The package that is installed for that alone should go.",
      contract: "No source imports `dequal`. Values are compared by `isDeepStrictEqual` of `node:util`.",
    },
    gold: ["index.js", "lib/resolvers.js"].map((path) => ({
      path,
      from: "const { dequal: deepEqual } = require('dequal')",
      to: "const { isDeepStrictEqual: deepEqual } = require('node:util')",
    })),
    check: { type: "migration", absent: ["dequal"], present: ["node:util"] },
    site: { file: "index.js", functionName: "<module>", line: 3 },
  },
];

/** A task other than a bug begins with the package as it comes: what an author leaves in the tree solves it. */
export const PLAYS: readonly Authored[] = [...OWN, ...AUTHORED].filter(
  ({ type, base }) => type === "bug" || base === undefined,
);
