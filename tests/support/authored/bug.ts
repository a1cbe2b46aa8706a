/** Three bugs with tests of their own: two that the packages really have, one that was put in. */
import { type Authored, file } from "./types.ts";

export const BUG: readonly Authored[] = [
  {
    name: "empty-words",
    environment: "shell-quote",
    type: "bug",
    text: {
      title: "shell-quote: empty words get lost",
      body: "A command with an empty argument is quoted into one that lacks it: the shell sees one word less.",
      contract: "An empty word is quoted as two single quotes.",
    },
    gold: [
      {
        path: "quote.js",
        from: "	return xs.map(function (s) {\n",
        to: "	return xs.map(function (s) {\n		if (s === '') {\n			return '\\'\\'';\n		}\n",
      },
    ],
    tests: [
      file(
        "test/empty.js",
        `'use strict';

var test = require('tape');
var quote = require('../').quote;
var parse = require('../').parse;

test('arguments without a character', function (t) {
	t.equal(quote(['']), "''");
	t.equal(quote(['a', '', 'b']), "a '' b");
	t.deepEqual(parse(quote(['a', '', 'b'])), ['a', '', 'b']);
	t.equal(quote([]), '');
	t.end();
});
`,
      ),
    ],
    site: { file: "quote.js", functionName: "quote", line: 3 },
  },
  {
    name: "to-json-key",
    environment: "json-stable-stringify",
    type: "bug",
    text: {
      title: "json-stable-stringify: toJSON is not told its key",
      body: "JSON.stringify tells an object's toJSON method under which key the object stands. Here the method gets nothing, and objects that are written differently by place come out wrong.",
      contract: '`toJSON` gets the key as a string, `""` for the outermost value.',
    },
    gold: [{ path: "index.js", from: "node = node.toJSON();", to: "node = node.toJSON(String(key));" }],
    tests: [
      file(
        "test/to-json-key.js",
        `'use strict';

var test = require('tape');
var stringify = require('../');

function Named() {}
Named.prototype.toJSON = function (key) { return 'at ' + typeof key + ' ' + key; };

test('toJSON is told its key', function (t) {
	t.equal(stringify({ b: new Named(), a: [new Named()] }), '{"a":["at string 0"],"b":"at string b"}');
	t.equal(stringify(new Named()), '"at string "');
	t.end();
});
`,
      ),
    ],
    site: { file: "index.js", functionName: "stringify", line: 43 },
  },
  {
    name: "hexadecimal-f",
    environment: "minimist",
    type: "bug",
    text: {
      title: "minimist: some hexadecimal values stay strings",
      body: "Options with hexadecimal values come out as numbers, but not all of them: some are left as the text that was given.",
      contract: "",
    },
    base: [{ path: "index.js", from: "/^0x[0-9a-f]+$/i", to: "/^0x[0-9a-e]+$/i" }],
    gold: [{ path: "index.js", from: "/^0x[0-9a-e]+$/i", to: "/^0x[0-9a-f]+$/i" }],
    tests: [
      file(
        "test/hexadecimal.js",
        `'use strict';

var test = require('tape');
var parse = require('../');

test('values in hexadecimal notation, with every digit', function (t) {
	t.deepEqual(parse(['--mask', '0xff']), { _: [], mask: 255 });
	t.deepEqual(parse(['--mask', '0x1F']), { _: [], mask: 31 });
	t.deepEqual(parse(['--mask', '0xg']), { _: [], mask: '0xg' });
	t.end();
});
`,
      ),
    ],
    site: { file: "index.js", functionName: "isNumber", line: 14 },
  },
];
