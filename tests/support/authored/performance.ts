/** Three speed-ups: a stack searched from its start, a list copied for each element, numerals built anew each time. */
import { type Authored, file } from "./types.ts";

export const PERFORMANCE: readonly Authored[] = [
  {
    name: "stringify-deep",
    environment: "json-stable-stringify",
    type: "performance",
    text: {
      title: "json-stable-stringify: deeply nested objects take long",
      body: "The time to write an object that is nested some thousand levels deep grows with the square of its depth. What is written must stay the same.",
      contract: "Cycles must be found as before, with `cycles` and without.",
    },
    gold: [
      { path: "index.js", from: "var seen = [];", to: "var seen = new Set();" },
      { path: "index.js", from: "if (seen.indexOf(node) !== -1) {", to: "if (seen.has(node)) {" },
      { path: "index.js", from: "seen.push(node); }", to: "seen.add(node); }" },
      { path: "index.js", from: "seen.splice(seen.indexOf(node), 1);", to: "seen.delete(node);" },
    ],
    check: {
      type: "performance",
      minSpeedup: 1.5,
      workload: file(
        "bench/deep.js",
        `'use strict';

var stringify = require('../');

var deep = {};
for (var i = 0; i < 4000; i++) { deep = { a: deep }; }
var length = 0;
for (var k = 0; k < 50; k++) { length += stringify(deep).length; }
console.log(length);
`,
      ),
    },
    site: { file: "index.js", functionName: "stringify", line: 59 },
  },
  {
    name: "parse-long-lines",
    environment: "shell-quote",
    type: "performance",
    text: {
      title: "shell-quote: parse is slow on lines of many words",
      body: "Parsing a line of ten thousand words and more copies the words read so far for each further one. The result must stay the same.",
      contract: "",
    },
    gold: [
      {
        path: "parse.js",
        from: `	}).reduce(function (prev, arg) { // finalize parsed arguments
		// TODO: replace this whole reduce with a concat
		return typeof arg === 'undefined' ? prev : prev.concat(arg);
	}, []);`,
        to: `	}).reduce(function (words, arg) { // finalize parsed arguments
		if (Array.isArray(arg)) {
			words.push.apply(words, arg);
		} else if (typeof arg !== 'undefined') {
			words.push(arg);
		}
		return words;
	}, []);`,
      },
    ],
    check: {
      type: "performance",
      minSpeedup: 1.5,
      workload: file(
        "bench/long.js",
        `'use strict';

var parse = require('../').parse;

var line = new Array(9001).join('word ');
console.log(parse(line).length);
`,
      ),
    },
    site: { file: "parse.js", functionName: "parseInternal", line: 188 },
  },
  {
    name: "numerals-again",
    environment: "roman",
    type: "performance",
    text: {
      title: "roman: toRoman does the same work again and again",
      body: "Programs that write page numbers ask for the same few thousand numerals over and over. Each of them is built anew every time.",
      contract: "",
    },
    gold: [
      {
        path: "src/roman.py",
        from: `def toRoman(n):
    """convert integer to Roman numeral"""
`,
        to: `_numerals = {}


def toRoman(n):
    """convert integer to Roman numeral"""
    if type(n) is int and n in _numerals:
        return _numerals[n]
`,
      },
      {
        path: "src/roman.py",
        from: `    result = ""
    for numeral, integer in romanNumeralMap:
        while n >= integer:
            result += numeral
            n -= integer
    return result


# Define pattern`,
        to: `    result = ""
    rest = n
    for numeral, integer in romanNumeralMap:
        while rest >= integer:
            result += numeral
            rest -= integer
    _numerals[n] = result
    return result


# Define pattern`,
      },
    ],
    check: {
      type: "performance",
      minSpeedup: 2,
      workload: file(
        "bench/numerals.py",
        `import roman

print(sum(len(roman.toRoman(n)) for _ in range(70) for n in range(1, 5000)))
`,
      ),
    },
    site: { file: "src/roman.py", functionName: "toRoman", line: 60 },
  },
];
