/** Three refactorings: a parser that stands twice, an arithmetic that stands twice, a main function that does everything. */
import type { Authored, Edit } from "./types.ts";

const body = (fail: string): string => `
  let index = header.indexOf(';')
  const type = index !== -1
    ? header.slice(0, index).trim()
    : header.trim()

  if (mediaTypeRE.test(type) === false) {
    ${fail.replace("REASON", "invalid media type")}
  }

  const result = {
    type: type.toLowerCase(),
    parameters: new NullObject()
  }

  // parse parameters
  if (index === -1) {
    return result
  }

  let key
  let match
  let value

  paramRE.lastIndex = index

  while ((match = paramRE.exec(header))) {
    if (match.index !== index) {
      ${fail.replace("REASON", "invalid parameter format")}
    }

    index += match[0].length
    key = match[1].toLowerCase()
    value = match[2]

    if (value[0] === '"') {
      // remove quotes and escapes
      value = value
        .slice(1, value.length - 1)

      quotedPairRE.test(value) && (value = value.replace(quotedPairRE, '$1'))
    }

    result.parameters[key] = value
  }

  if (index !== header.length) {
    ${fail.replace("REASON", "invalid parameter format")}
  }

  return result
}
`;

const THROW = "throw new TypeError('REASON')";
const DEFAULT = "return defaultContentType";

const flatCrossing = `        var intersect = ((yi > y) !== (yj > y))
            && (x < (xj - xi) * (y - yi) / (yj - yi) + xi);
        if (intersect) inside = !inside;`;
const called = "        if (crosses(x, y, xi, yi, xj, yj)) inside = !inside;";

const usesHelper = (path: string, head: string): Edit[] => [
  { path, from: head, to: `var crosses = require('./crosses.js');\n\n${head}` },
  { path, from: flatCrossing, to: called },
];

export const REFACTOR: readonly Authored[] = [
  {
    name: "one-parser",
    environment: "content-type",
    type: "refactor",
    text: {
      title: "content-type holds the same parser twice",
      body: "Both functions walk through a header in the same way and differ only in what they do with one that is wrong. Let one of them do the work.",
      contract: "In `index.js` no 40 tokens in a row may stand twice.",
    },
    gold: [
      {
        path: "index.js",
        from: `    throw new TypeError('argument header is required and must be a string')
  }
${body(THROW)}`,
        to: `    throw new TypeError('argument header is required and must be a string')
  }

  return read(header, fail)
}

function fail (reason) {
  throw new TypeError(reason)
}

// What is wrong with the header is said by \`reject\`, whose result is given back.
function read (header, reject) {${body("return reject('REASON')")}`,
      },
      {
        path: "index.js",
        from: `    return defaultContentType
  }
${body(DEFAULT)}`,
        to: `    return defaultContentType
  }

  return read(header, () => defaultContentType)
}
`,
      },
    ],
    check: { type: "refactor", structure: [{ kind: "max-copies", files: ["index.js"], tokens: 40 }] },
    site: { file: "index.js", functionName: "parse", line: 50 },
  },
  {
    name: "one-crossing",
    environment: "point-in-polygon",
    type: "refactor",
    text: {
      title: "point-in-polygon: the crossing of an edge is written twice",
      body: "Flat and nested polygons are looked at by two functions with the same arithmetic in them. Move it to one place.",
      contract: "A file `crosses.js` defines a function `crosses`, which both functions call.",
    },
    gold: [
      {
        path: "crosses.js",
        content: `// Whether a ray from the point to the right crosses the edge between the two corners.
module.exports = function crosses (x, y, xi, yi, xj, yj) {
    return ((yi > y) !== (yj > y))
        && (x < (xj - xi) * (y - yi) / (yj - yi) + xi);
};
`,
      },
      ...usesHelper("flat.js", "module.exports = function pointInPolygonFlat "),
      ...usesHelper("nested.js", "module.exports = function pointInPolygonNested "),
    ],
    check: {
      type: "refactor",
      structure: [
        { kind: "defines", file: "crosses.js", symbol: "crosses" },
        { kind: "calls", file: "flat.js", symbol: "crosses", from: "pointInPolygonFlat", atLeast: 1 },
        { kind: "calls", file: "nested.js", symbol: "crosses", from: "pointInPolygonNested", atLeast: 1 },
      ],
    },
    site: { file: "flat.js", functionName: "pointInPolygonFlat", line: 1 },
  },
  {
    name: "short-main",
    environment: "roman",
    type: "refactor",
    text: {
      title: "roman: converting and printing should be apart",
      body: "The function behind the command line converts in both directions and prints, in one. Other programs want the first without the second.",
      contract:
        "A function `convert` takes the parsed arguments and returns what is to be printed; `main` has at most 6 lines.",
    },
    gold: [
      {
        path: "src/roman.py",
        from: `def main():
    args = parse_args()
    if args.reverse:
        r = fromRoman(args.number)
        print(r)
    else:
        i = int(args.number)
        n = toRoman(i)
        print(n)

    return 0
`,
        to: `def convert(args):
    """what the parsed arguments ask for"""
    if args.reverse:
        return fromRoman(args.number)
    number = int(args.number)
    return toRoman(number)


def main():
    print(convert(parse_args()))
    return 0
`,
      },
    ],
    check: {
      type: "refactor",
      structure: [
        { kind: "defines", file: "src/roman.py", symbol: "convert" },
        { kind: "max-lines", file: "src/roman.py", symbol: "main", lines: 6 },
      ],
    },
    site: { file: "src/roman.py", functionName: "main", line: 137 },
  },
];
