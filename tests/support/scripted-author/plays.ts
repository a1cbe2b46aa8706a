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
  {
    name: "line-break",
    environment: "roman",
    type: "bug",
    site: { file: "src/roman.py", functionName: "fromRoman", line: 94 },
    gold: [
      {
        path: "src/roman.py",
        from: "    if not romanNumeralPattern.search(s):",
        to: "    if not romanNumeralPattern.fullmatch(s):",
      },
    ],
    tests: [
      file(
        "src/test_line_breaks.py",
        `import unittest

import roman


class TestLineBreaks(unittest.TestCase):

    def test_at_the_end(self):
        self.assertEqual(roman.fromRoman('MCMXC'), 1990)
        for text in ('MCMXC\\n', 'x\\n'):
            with self.assertRaises(roman.InvalidRomanNumeralError):
                roman.fromRoman(text)
`,
      ),
    ],
    text: {
      title: "roman: a line break after a numeral goes unnoticed",
      body: "A numeral with a blank or any other character after it is refused. A line break at its end is not: the value is converted as if it were not there.",
      contract:
        "What ends with a line break is no numeral, and is refused like everything else that is none.",
    },
  },
  {
    name: "without-re",
    environment: "roman",
    type: "migration",
    text: {
      title: "roman: numerals are recognised by a second list of the digits",
      body: "Which numerals are valid is written down twice: in the table that both directions convert by, and once more as a regular expression. The table says it all: a numeral is valid if its number is written just so.",
      contract:
        "No source imports `re`. Every numeral is converted as before, and what is none is refused by the same error.",
    },
    gold: [
      { path: "src/roman.py", from: "import argparse\nimport re\n", to: "import argparse\n" },
      {
        path: "src/roman.py",
        from: `# Define pattern to detect valid Roman numerals
romanNumeralPattern = re.compile("""
    ^                   # beginning of string
    M{0,4}              # thousands - 0 to 4 M's
    (CM|CD|D?C{0,3})    # hundreds - 900 (CM), 400 (CD), 0-300 (0 to 3 C's),
                        #            or 500-800 (D, followed by 0 to 3 C's)
    (XC|XL|L?X{0,3})    # tens - 90 (XC), 40 (XL), 0-30 (0 to 3 X's),
                        #        or 50-80 (L, followed by 0 to 3 X's)
    (IX|IV|V?I{0,3})    # ones - 9 (IX), 4 (IV), 0-3 (0 to 3 I's),
                        #        or 5-8 (V, followed by 0 to 3 I's)
    $                   # end of string
    """, re.VERBOSE)


`,
        to: "",
      },
      {
        path: "src/roman.py",
        from: `    if not romanNumeralPattern.search(s):
        raise InvalidRomanNumeralError('Invalid Roman numeral: %s' % s)

`,
        to: "",
      },
      {
        path: "src/roman.py",
        from: `            index += len(numeral)
    return result
`,
        to: `            index += len(numeral)
    if result >= 5000 or toRoman(result) != s:
        raise InvalidRomanNumeralError('Invalid Roman numeral: %s' % s)
    return result
`,
      },
    ],
    tests: [
      file(
        "src/test_numerals.py",
        `import unittest

import roman


class TestNumerals(unittest.TestCase):

    def test_every_number(self):
        for number in range(5000):
            self.assertEqual(roman.fromRoman(roman.toRoman(number)), number)

    def test_numerals_that_are_none(self):
        for text in ('IIII', 'VX', 'IC', 'MMMMM', 'XCX', 'MN', ' X', 'X1'):
            with self.assertRaises(roman.InvalidRomanNumeralError):
                roman.fromRoman(text)
`,
      ),
    ],
    check: { type: "migration", absent: ["re"], present: [] },
    site: { file: "src/roman.py", functionName: "fromRoman", line: 94 },
  },
];

/** A task other than a bug begins with the package as it comes: what an author leaves in the tree solves it. */
export const PLAYS: readonly Authored[] = [...OWN, ...AUTHORED].filter(
  ({ type, base }) => type === "bug" || base === undefined,
);
