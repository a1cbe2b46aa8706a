/** Three features: an option, a function, a keyword argument; each with tests that the package does not have. */
import { type Authored, file } from "./types.ts";

export const FEATURE: readonly Authored[] = [
  {
    name: "keep-padding",
    environment: "text-table",
    type: "feature",
    text: {
      title: "text-table: let the last column keep its padding",
      body: "White space at the end of each row is cut off. For tables with a background colour all rows should be as wide as the widest.",
      contract:
        "With the option `trim: false` rows keep the white space at their end; by default nothing changes.",
    },
    gold: [
      {
        path: "index.js",
        from: "    var align = opts.align || [];\n",
        to: "    var align = opts.align || [];\n    var trim = opts.trim !== false;\n",
      },
      {
        path: "index.js",
        from: "    return map(rows, function (row) {\n        return map(row, function (c, ix) {\n            var n = (sizes",
        to: "    return map(rows, function (row) {\n        var line = map(row, function (c, ix) {\n            var n = (sizes",
      },
      {
        path: "index.js",
        from: "        }).join(hsep).replace(/\\s+$/, '');\n",
        to: "        }).join(hsep);\n        return trim ? line.replace(/\\s+$/, '') : line;\n",
      },
    ],
    tests: [
      file(
        "test/trim.js",
        `var test = require('tape');
var table = require('../');

test('rows keep their padding when they are asked to', function (t) {
    t.equal(table([['a', 'bcd'], ['ef', 'g']], { trim: false }), 'a   bcd\\nef  g  ');
    t.equal(table([['a', 'bcd'], ['ef', 'g']], { trim: true }), 'a   bcd\\nef  g');
    t.equal(table([['a', 'bcd'], ['ef', 'g']]), 'a   bcd\\nef  g');
    t.end();
});
`,
      ),
    ],
    site: { file: "index.js", functionName: "<module>", line: 1 },
  },
  {
    name: "neighbours",
    environment: "tilebelt",
    type: "feature",
    text: {
      title: "tilebelt: the tiles beside a tile",
      body: "Maps that load a margin need the tiles around one. There is no function for that.",
      contract:
        "`getNeighbors(tile)` returns the tiles to the north, east, south and west, in this order. Columns go around the world; there is nothing north of the first row and south of the last, and such tiles are left out.",
    },
    gold: [
      {
        path: "index.js",
        from: `/**
 * Get the quadkey for a tile
`,
        to: `/**
 * Get the tiles that share an edge with a tile: north, east, south, west
 *
 * @name getNeighbors
 * @param {Array<number>} tile
 * @returns {Array<Array<number>>} tiles
 */
function getNeighbors(tile) {
    var size = Math.pow(2, tile[2]);
    var around = [
        [tile[0], tile[1] - 1, tile[2]],
        [(tile[0] + 1) % size, tile[1], tile[2]],
        [tile[0], tile[1] + 1, tile[2]],
        [(tile[0] + size - 1) % size, tile[1], tile[2]]
    ];
    return around.filter(function (neighbor) {
        return neighbor[1] >= 0 && neighbor[1] < size;
    });
}

/**
 * Get the quadkey for a tile
`,
      },
      {
        path: "index.js",
        from: "    getSiblings: getSiblings,\n",
        to: "    getSiblings: getSiblings,\n    getNeighbors: getNeighbors,\n",
      },
    ],
    tests: [
      file(
        "test-neighbors.js",
        `'use strict';

var test = require('tape').test;
var tilebelt = require('./');

test('north, east, south, west', function (t) {
    t.deepEqual(tilebelt.getNeighbors([5, 10, 10]), [[5, 9, 10], [6, 10, 10], [5, 11, 10], [4, 10, 10]]);
    t.deepEqual(tilebelt.getNeighbors([0, 0, 1]), [[1, 0, 1], [0, 1, 1], [1, 0, 1]], 'first row and column');
    t.deepEqual(tilebelt.getNeighbors([3, 3, 2]), [[3, 2, 2], [0, 3, 2], [2, 3, 2]], 'last row and column');
    t.end();
});
`,
      ),
    ],
    site: { file: "index.js", functionName: "<module>", line: 1 },
  },
  {
    name: "lower-case",
    environment: "roman",
    type: "feature",
    text: {
      title: "roman: numerals in lower case",
      body: "Prefaces number their pages in lower case. It should be possible to ask for that.",
      contract:
        "`toRoman(n, lowercase=True)` returns the numeral in lower case, zero's too; by default nothing changes.",
    },
    gold: [
      { path: "src/roman.py", from: "def toRoman(n):\n", to: "def toRoman(n, lowercase=False):\n" },
      {
        path: "src/roman.py",
        from: "        return 'N'\n",
        to: "        return 'n' if lowercase else 'N'\n",
      },
      {
        path: "src/roman.py",
        from: "            n -= integer\n    return result\n",
        to: "            n -= integer\n    return result.lower() if lowercase else result\n",
      },
    ],
    tests: [
      file(
        "src/test_lowercase.py",
        `import unittest

import roman


class TestLowercase(unittest.TestCase):
    def test_numerals(self):
        self.assertEqual(roman.toRoman(1994, lowercase=True), 'mcmxciv')
        self.assertEqual(roman.toRoman(4, lowercase=True), 'iv')

    def test_zero(self):
        self.assertEqual(roman.toRoman(0, lowercase=True), 'n')

    def test_default(self):
        self.assertEqual(roman.toRoman(4), 'IV')
        self.assertEqual(roman.toRoman(0), 'N')
`,
      ),
    ],
    site: { file: "src/roman.py", functionName: "toRoman", line: 60 },
  },
];
