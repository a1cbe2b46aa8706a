/** Tasks written by hand, as a scripted author plays them: edits of a package, hidden tests, and the words. */
import type { TaskType } from "../../../core/task.ts";

export interface Play {
  /** Name of the package. */
  readonly environment: string;
  readonly type: TaskType;
  /** Of a bug: what breaks the package. Of the others: what solves the task. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
  readonly tests: readonly { readonly path: string; readonly content: string }[];
  readonly title: string;
  readonly body: string;
  readonly contract: string;
  /** As Deliver has it. */
  readonly check?: object;
}

const tape = (lines: string): string => `'use strict';

var parse = require('../');
var test = require('tape');

${lines}`;

export const PLAYS: readonly Play[] = [
  {
    environment: "minimist",
    type: "bug",
    edits: [
      {
        file: "index.js",
        find: "		if (o[lastKey] === undefined || flags.bools[lastKey] || typeof o[lastKey] === 'boolean') {",
        replace:
          "		var nested = keys.length > 1;\n		if (nested || o[lastKey] === undefined || flags.bools[lastKey] || typeof o[lastKey] === 'boolean') {",
      },
    ],
    tests: [
      {
        path: "test/repeated_dotted.js",
        content: tape(`test('values of a repeated nested option are all kept', function (t) {
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
      },
    ],
    title: "A nested option given more than once loses its earlier values",
    body: "Giving `--port 80 --port 81` yields both values as a list. Giving `--server.port 80 --server.port 81` yields 81 alone: the earlier value is lost without a word.",
    contract:
      "An option whose name has dots collects the values of all its occurrences in an array, in the order of the command line, as one without dots does.",
  },
  {
    environment: "minimist",
    type: "feature",
    edits: [
      {
        file: "index.js",
        find: "		var value = !flags.strings[key] && isNumber(val)\n			? Number(val)\n			: val;",
        replace:
          "		var value = opts.numbers !== false && !flags.strings[key] && isNumber(val)\n			? Number(val)\n			: val;",
      },
      {
        file: "index.js",
        find: "				argv._.push(flags.strings._ || !isNumber(arg) ? arg : Number(arg));",
        replace:
          "				var isText = opts.numbers === false || flags.strings._ || !isNumber(arg);\n				argv._.push(isText ? arg : Number(arg));",
      },
    ],
    tests: [
      {
        path: "test/numbers_off.js",
        content: tape(`test('with numbers: false the values of options stay text', function (t) {
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
      },
    ],
    title: "Let callers keep values that look like numbers as text",
    body: "Post codes and serial numbers with leading zeros are damaged, because every value that looks like a number becomes one. Naming each option in `string` is no help where the names are not known before. There should be an option that turns the conversion off.",
    contract:
      "With `opts.numbers` set to `false` no value is converted to a number: neither those of options, however they are given, nor those in `_`. Anything else, or nothing, leaves the behaviour as it is.",
  },
];
