/** Statements from which nobody can know what the tests ask for; and tasks of a type that they are not. */
import { writeText as file } from "../../../services/synthesis/changes.ts";
import type { Authored } from "../authored/index.ts";
import {
  camelizeTest,
  EXPORTED,
  NO_COLON,
  ONE_TAG,
  ONE_TAG_STRUCTURE,
  OWN_TRIM,
  SHALLOW,
  STRICT,
  worded,
} from "./seeds.ts";
import type { Faulty } from "./types.ts";

const golden = (to: string) => [{ path: "index.js", from: EXPORTED, to }];

const MODULE: Authored = {
  ...worded(SHALLOW, {
    contract: "A module of its own renames one key: it gets a key and returns it in camel case.",
  }),
  gold: [
    {
      path: "lib/key.js",
      content: "module.exports = function (key) {\n    return require('../')(String(key));\n};\n",
    },
  ],
  tests: [
    file(
      "test/key.js",
      "var test = require('tape');\nvar key = require('../lib/key');\n\ntest('one key', function (t) {\n    t.equal(key('a_b'), 'aB');\n    t.equal(key(1), '1');\n    t.end();\n});\n",
    ),
  ],
};

const EXITS: Authored = {
  ...worded(SHALLOW, {
    title: "camelize: a command",
    body: "There is no way to rename the keys of a file from a shell.",
    contract:
      "`bin/camelize.js` reads JSON from its standard input and writes it with renamed keys; what is no JSON makes it fail.",
  }),
  gold: [
    {
      path: "bin/camelize.js",
      content: `var input = require('fs').readFileSync(0, 'utf8');
var value;
try { value = JSON.parse(input); }
catch (e) { process.exit(65); }
console.log(JSON.stringify(require('../')(value)));
`,
    },
  ],
  tests: [
    file(
      "test/command.js",
      `var test = require('tape');
var spawn = require('child_process').spawnSync;

test('command', function (t) {
    var run = function (input) { return spawn(process.execPath, [require.resolve('../bin/camelize.js')], { input: input }); };
    t.equal(String(run('{"a_b":1}').stdout), '{"aB":1}\\n');
    t.equal(run('{').status, 65);
    t.end();
});
`,
    ),
  ],
};

/** Too little code for a feature. */
const DEFAULT: Authored = {
  ...SHALLOW,
  type: "bug",
  text: {
    title: "camelize: empty keys",
    body: "A key of underscores alone comes out as no key at all.",
    contract: "Such a key becomes a fixed word instead.",
  },
  gold: [
    {
      path: "index.js",
      from: "var camel = camelCase(key);",
      to: "var camel = camelCase(key) || 'nameless';",
    },
  ],
  tests: [
    file(
      "test/empty.js",
      camelizeTest("empty keys", [
        "t.deepEqual(camelize({ _: 1 }), { nameless: 1 });",
        "t.equal(Object.keys(camelize({ '-': 1 }))[0], 'nameless');",
      ]),
    ),
  ],
};

export const UNDETERMINED: readonly Faulty[] = [
  {
    name: "option-unnamed",
    wrong: "the option that the tests use has no name",
    gate: "determined",
    task: worded(SHALLOW, { contract: "An option renames only the keys of the outermost object." }),
  },
  {
    name: "option-misnamed",
    wrong: "the contract calls the option by another name",
    gate: "determined",
    task: worded(SHALLOW, { contract: SHALLOW.text.contract.replace("shallow", "flat") }),
  },
  {
    name: "function-unnamed",
    wrong: "the function that the tests call has no name",
    gate: "determined",
    task: worded(STRICT, {
      contract: STRICT.text.contract.replace("`camelize.strict(obj)`", "A further function"),
    }),
  },
  {
    name: "message-unsaid",
    wrong: "the tests compare a message that nobody states",
    gate: "determined",
    task: worded(STRICT, {
      contract:
        "`camelize.strict(obj)` is `camelize(obj)`, but throws a RangeError where two keys are equal afterwards.",
    }),
  },
  {
    name: "message-misquoted",
    wrong: "the contract states another message than the tests compare",
    gate: "determined",
    task: worded(STRICT, { contract: STRICT.text.contract.replace("two keys become ", "equal keys: ") }),
  },
  {
    name: "module-unnamed",
    wrong: "the tests load a file whose name nobody states",
    gate: "determined",
    task: MODULE,
  },
  {
    name: "exit-code-unsaid",
    wrong: "the tests compare an exit code that nobody states",
    gate: "determined",
    task: EXITS,
  },
  {
    name: "value-unsaid",
    wrong: "the tests compare a word that somebody made up",
    gate: "determined",
    task: DEFAULT,
  },
  {
    name: "says-nothing",
    wrong: "the text fits every bug",
    gate: "determined",
    task: worded(NO_COLON, {
      title: "Wrong result",
      body: "The function returns wrong values for some inputs. Please fix it.",
      contract: "It should work as expected.",
    }),
  },
  {
    name: "no-words",
    wrong: "there is hardly a text at all",
    gate: "determined",
    task: worded(SHALLOW, { title: "Improve it", body: "", contract: "" }),
  },
  {
    name: "symbol-unnamed",
    wrong: "the refactoring's check asks for a function that the contract does not name",
    gate: "determined",
    task: worded(ONE_TAG, {
      contract: "One function returns what the object's own string says; the helpers call it.",
    }),
  },
  {
    name: "package-unnamed",
    wrong: "the migration does not say which package has to go",
    gate: "determined",
    task: worded(OWN_TRIM, {
      title: "parse-headers: one package less",
      body: "Every engine does by itself what it does.",
      contract: "No source imports it any more.",
    }),
  },
];

const LOWER = [{ path: "index.js", from: "return x.toUpperCase();", to: "return x.toLowerCase();" }];
const UPPER = [{ path: "index.js", from: "return x.toLowerCase();", to: "return x.toUpperCase();" }];
const TEXT = {
  title: "camelize: words begin with small letters",
  body: "`one_two` becomes `onetwo`.",
  contract: "`one_two` becomes `oneTwo`.",
};
const DISGUISED = {
  environment: "camelize",
  text: TEXT,
  base: LOWER,
  gold: UPPER,
  site: { file: "index.js", functionName: "camelCase", line: 20 },
};

export const DISGUISES: readonly Faulty[] = [
  {
    name: "mutation-as-feature",
    wrong: "a mutated letter is called a feature",
    gate: "type",
    task: { ...DISGUISED, name: "feature", type: "feature" },
  },
  {
    name: "mutation-as-refactor",
    wrong: "a mutated letter is called a refactoring",
    gate: "type",
    task: {
      ...DISGUISED,
      name: "refactor",
      type: "refactor",
      check: {
        type: "refactor",
        structure: [
          { kind: "calls", file: "index.js", symbol: "toUpperCase", from: "camelCase", atLeast: 1 },
        ],
      },
    },
  },
  {
    name: "mutation-as-migration",
    wrong: "a mutated letter is called a migration",
    gate: "type",
    task: { ...DISGUISED, name: "migration", type: "migration" },
  },
  {
    name: "mutation-as-performance",
    wrong: "a mutated letter is called a speed-up",
    gate: "type",
    task: { ...DISGUISED, name: "performance", type: "performance" },
  },
  {
    name: "feature-as-refactor",
    wrong: "the refactoring changes what the package does",
    gate: "type",
    task: {
      ...SHALLOW,
      type: "refactor",
      check: { type: "refactor", structure: [{ kind: "defines", file: "index.js", symbol: "outermost" }] },
      text: { ...SHALLOW.text, contract: `${SHALLOW.text.contract} \`outermost\` does it.` },
    },
  },
  {
    name: "fix-with-new-test-as-feature",
    wrong: "a guard that a bug lacks is called a feature, with a test of its own",
    gate: "type",
    task: { ...NO_COLON, name: "guard", type: "feature" },
  },
  {
    name: "definition-unused",
    wrong: "the refactoring adds a function that nothing calls",
    gate: "gold",
    task: {
      ...ONE_TAG,
      check: { type: "refactor", structure: [{ kind: "defines", file: "index.js", symbol: "tagOf" }] },
      gold: golden(
        `${EXPORTED}\nfunction tagOf (obj) {\n    return Object.prototype.toString.call(obj);\n}\n`,
      ),
    },
  },
  {
    name: "refactor-without-check",
    wrong: "nothing tells the refactored tree from the base tree but tests",
    gate: "type",
    task: { ...SHALLOW, type: "refactor" },
  },
  {
    name: "check-of-another-type",
    wrong: "the bug has a refactoring's check",
    gate: "type",
    task: { ...ONE_TAG, type: "bug" },
  },
  {
    name: "structure-true-before",
    wrong: "one of the assertions about the structure holds on the base tree",
    gate: "type",
    task: {
      ...ONE_TAG,
      check: {
        type: "refactor",
        structure: [...ONE_TAG_STRUCTURE, { kind: "defines", file: "index.js", symbol: "isDate" }],
      },
    },
  },
  {
    name: "module-never-imported",
    wrong: "the migration takes away a module that no source imports",
    gate: "type",
    task: {
      ...OWN_TRIM,
      check: { type: "migration", absent: ["trim", "left-pad"], present: [] },
      text: { ...OWN_TRIM.text, contract: "No source imports `trim` or `left-pad` any more." },
    },
  },
  {
    name: "migration-without-check",
    wrong: "nothing shows that the dependency is gone",
    gate: "type",
    task: { ...NO_COLON, type: "migration" },
  },
];

const HEAVY = file(
  "bench/heavy.js",
  "var camelize = require('../');\nvar o = {};\nfor (var i = 0; i < 300; i++) o['key_' + i] = { inner_key: i };\nvar n = 0;\nfor (var k = 0; k < 200; k++) n += Object.keys(camelize(o)).length;\nconsole.log(n);\n",
);
const SPEED: Authored = {
  ...{ name: "speed", environment: "camelize", type: "performance", site: SHALLOW.site },
  text: {
    title: "camelize: large objects take long",
    body: "Objects with many keys take long to rename.",
    contract: "",
  },
  check: { type: "performance", minSpeedup: 2, workload: HEAVY },
  gold: golden(`${EXPORTED}\n// faster\n`),
};

export const NOT_FASTER: readonly Faulty[] = [
  { name: "no-faster", wrong: "the solution is as slow as the base tree", gate: "gold", task: SPEED },
  {
    name: "knows-the-workload",
    wrong: "the solution prints the workload's answer and ends the process",
    gate: "gold",
    task: {
      ...SPEED,
      gold: golden(
        `if (!/test/.test(require.main.filename)) { console.log(60000); process.exit(0); }\n${EXPORTED}`,
      ),
    },
  },
  {
    name: "slower",
    wrong: "the solution is slower than the base tree",
    gate: "gold",
    task: {
      ...SPEED,
      gold: golden(EXPORTED.replace("return walk(obj);", "walk(obj);\n    return walk(obj);")),
    },
  },
];
