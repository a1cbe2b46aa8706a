/** Three migrations: off a package that the language made needless, off a deprecated module, off floating point. */
import type { Authored } from "./types.ts";

export const MIGRATION: readonly Authored[] = [
  {
    name: "without-jsonify",
    environment: "json-stable-stringify",
    type: "migration",
    text: {
      title: "json-stable-stringify: do without jsonify",
      body: "Every engine that is still in use has JSON. The package that stands in for it is dead weight.",
      contract: "No source imports `jsonify`.",
    },
    gold: [
      {
        path: "index.js",
        from: "var json = typeof JSON !== 'undefined' ? JSON : require('jsonify');",
        to: "var json = JSON;",
      },
    ],
    check: { type: "migration", absent: ["jsonify"], present: [] },
    site: { file: "index.js", functionName: "<module>", line: 3 },
  },
  {
    name: "to-argparse",
    environment: "roman",
    type: "migration",
    text: {
      title: "roman: the command line is read by a deprecated module",
      body: "optparse has not been developed for years. Please read the command line by its successor; its options and what the parsing function returns stay as they are.",
      contract: "No source imports `optparse`, and one imports `argparse`.",
    },
    base: [
      { path: "src/roman.py", from: "import argparse\nimport re\n", to: "import optparse\nimport re\n" },
      {
        path: "src/roman.py",
        from: `    parser = argparse.ArgumentParser(
        prog='roman',
        description='convert between roman and arabic numerals'
    )
    parser.add_argument('number', help='the value to convert')
    parser.add_argument(
        '-r', '--reverse',
        action='store_true',
        default=False,
        help='convert roman to numeral (case insensitive) [default: False]')

    args = parser.parse_args()
    args.number = args.number
    return args
`,
        to: `    parser = optparse.OptionParser(
        prog='roman',
        usage='%prog [options] number',
        description='convert between roman and arabic numerals'
    )
    parser.add_option(
        '-r', '--reverse',
        action='store_true',
        default=False,
        help='convert roman to numeral (case insensitive) [default: False]')

    args, numbers = parser.parse_args()
    if len(numbers) != 1:
        parser.error('one number is needed')
    args.number = numbers[0]
    return args
`,
      },
    ],
    gold: [
      { path: "src/roman.py", from: "import optparse\nimport re\n", to: "import argparse\nimport re\n" },
      {
        path: "src/roman.py",
        from: `    parser = optparse.OptionParser(
        prog='roman',
        usage='%prog [options] number',
        description='convert between roman and arabic numerals'
    )
    parser.add_option(
`,
        to: `    parser = argparse.ArgumentParser(
        prog='roman',
        description='convert between roman and arabic numerals'
    )
    parser.add_argument('number', help='the value to convert')
    parser.add_argument(
`,
      },
      {
        path: "src/roman.py",
        from: `    args, numbers = parser.parse_args()
    if len(numbers) != 1:
        parser.error('one number is needed')
    args.number = numbers[0]
    return args
`,
        to: `    return parser.parse_args()
`,
      },
    ],
    check: { type: "migration", absent: ["optparse"], present: ["argparse"] },
    site: { file: "src/roman.py", functionName: "parse_args", line: 113 },
  },
  {
    name: "without-math",
    environment: "hashids",
    type: "migration",
    text: {
      title: "hashids: ratios are rounded by way of floating point",
      body: "Lengths are divided as floating point numbers and rounded up by the math module. Whole numbers need neither.",
      contract: "No source imports `math`.",
    },
    gold: [
      { path: "hashids.py", from: "from math import ceil\n", to: "" },
      {
        path: "hashids.py",
        from: "    return int(ceil(float(dividend) / divisor))",
        to: "    ratio, rest = divmod(dividend, divisor)\n    return int(ratio + (1 if rest else 0))",
      },
    ],
    check: { type: "migration", absent: ["math"], present: [] },
    site: { file: "hashids.py", functionName: "_index_from_ratio", line: 85 },
  },
];
