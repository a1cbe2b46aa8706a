/** Statements that give the answer away, and trees that hold it. */
import { NO_COLON, SHALLOW, STRICT, worded } from "./seeds.ts";
import type { Faulty } from "./types.ts";

const { contract } = SHALLOW.text;

export const LEAKS: readonly Faulty[] = [
  {
    name: "gold-line",
    wrong: "the contract quotes a line of the solution",
    gate: "leak",
    task: worded(SHALLOW, {
      contract: `${contract} Write \`if (opts && opts.shallow) return outermost(obj);\` for it.`,
    }),
  },
  {
    name: "gold-line-in-capitals",
    wrong: "the contract shouts a line of the solution",
    gate: "leak",
    task: worded(SHALLOW, {
      contract: `${contract} IF (OPTS && OPTS.SHALLOW) RETURN OUTERMOST(OBJ);`,
    }),
  },
  {
    name: "gold-line-encoded",
    wrong: "the contract has a line of the solution in base64",
    gate: "leak",
    task: worded(SHALLOW, {
      contract: `${contract} See ${Buffer.from("if (opts && opts.shallow) return outermost(obj);").toString("base64")}.`,
    }),
  },
  {
    name: "gold-line-in-prose",
    wrong: "the body has a line of the solution without any mark that it is code",
    gate: "leak",
    task: worded(NO_COLON, {
      body: `${NO_COLON.text.body} I think that if (index === -1) return is missing.`,
    }),
  },
  {
    name: "gold-expression",
    wrong: "the contract quotes a part of a line, with other white space",
    gate: "leak",
    task: worded(SHALLOW, {
      contract: `${contract} Test \`typeof obj !== 'object'|| isArray( obj ) ) return obj\` first.`,
    }),
  },
  {
    name: "gold-statement",
    wrong: "the body paraphrases the solution around a statement of it",
    gate: "leak",
    task: worded(STRICT, {
      body: `${STRICT.text.body} One keeps a map and does \`if (has.call(seen, camel)) throw new\` on the second.`,
    }),
  },
  {
    name: "test-file",
    wrong: "the body names the hidden test file",
    gate: "leak",
    task: worded(SHALLOW, { body: `${SHALLOW.text.body} See test/shallow.js.` }),
  },
  {
    name: "test-file-alone",
    wrong: "the contract names the hidden test file without its folder",
    gate: "leak",
    task: worded(STRICT, { contract: `${STRICT.text.contract} All of strict.js must pass.` }),
  },
  {
    name: "test-name",
    wrong: "the body is the name of the hidden test",
    gate: "leak",
    task: worded(SHALLOW, { body: "It should be so that inner objects keep their keys." }),
  },
  {
    name: "assertion-name",
    wrong: "the contract quotes what a hidden assertion is called",
    gate: "leak",
    task: worded(SHALLOW, { contract: `${contract} In short, arrays are left as they are.` }),
  },
  {
    name: "place",
    wrong: "the contract says in which line the work is",
    gate: "leak",
    task: worded(SHALLOW, { contract: `${contract} (index.js:6)` }),
  },
  {
    name: "line-number",
    wrong: "the body says in which line it is, in words",
    gate: "leak",
    task: worded(NO_COLON, { body: `${NO_COLON.text.body} It goes wrong in line 13.` }),
  },
  {
    name: "function",
    wrong: "the body names the internal function to be changed",
    gate: "leak",
    task: worded(SHALLOW, { body: `${SHALLOW.text.body} The recursion is in \`walk\`.` }),
  },
  {
    name: "function-called",
    wrong: "the contract writes the internal function as a call",
    gate: "leak",
    task: worded(STRICT, { contract: `${STRICT.text.contract} Then walk(obj) goes on.` }),
  },
  {
    name: "file",
    wrong: "the body names the only file that has to be changed",
    gate: "leak",
    task: worded(STRICT, { body: `${STRICT.text.body} This is about index.js alone.` }),
  },
  {
    name: "solution-beside",
    wrong: "the tree that the agent gets holds the solution under another name",
    gate: "leak",
    task: {
      ...SHALLOW,
      base: [
        {
          path: "example/next.js",
          content: `module.exports = function(obj, opts) {
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
`,
        },
      ],
    },
  },
  {
    name: "original-beside",
    wrong: "a mutation whose tree has a copy of the unbroken function",
    gate: "leak",
    task: {
      environment: "camelize",
      base: [
        { path: "index.js", from: "return x.toUpperCase();", to: "return x.toLowerCase();" },
        {
          path: "example/old.js",
          content: `function camelCase(str) {
    return str.replace(/[_.-](\\w|$)/g, function (_,x) {
        return x.toUpperCase();
    });
}
`,
        },
      ],
    },
  },
  {
    name: "original-minified",
    wrong: "a mutation whose tree has the unbroken function on one line",
    gate: "leak",
    task: {
      environment: "camelize",
      base: [
        {
          path: "index.js",
          from: "if (isDate(obj) || isRegex(obj)) return obj;",
          to: "if (isDate(obj)) return obj;",
        },
        {
          path: "dist/camelize.min.js",
          content:
            "function walk(obj){if(!obj||typeof obj!=='object')return obj;if(isDate(obj)||isRegex(obj))return obj;if(isArray(obj))return map(obj,walk);return reduce(objectKeys(obj),function(acc,key){var camel=camelCase(key);acc[camel]=walk(obj[key]);return acc;},{});}\n",
        },
      ],
    },
  },
];
