/** A package of one function with its tests and one task in it, small enough to be written by hand: no registry, no preparation. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FileChange, Statement, Task } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";

const TAP = `let n = 0;
process.on("exit", () => console.log("1.." + n));
module.exports = (name, ok) => {
  console.log("# " + name + "\\n" + (ok ? "ok " : "not ok ") + ++n + " holds");
  if (!ok) process.exitCode = 1;
};
`;

const TREE = {
  "index.js": "module.exports = (a, b) => a + b;\n",
  "lib/names with 'quotes'.js": "module.exports = 1;\n",
  "package.json": '{ "name": "adder", "version": "1.0.0" }\n',
  "test/add.js":
    'const test = require("tap");\nconst add = require("../index.js");\ntest("adds", add(2, 3) === 5);\n',
  "test/zero.js":
    'const test = require("tap");\nconst add = require("../index.js");\ntest("zero", add(0, 0) === 0);\n',
};

const text = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

/** `folder` holds the environment's files afterwards. */
export function tinyEnvironment(folder: string): PreparedEnvironment {
  const root = join(folder, "root");
  const modules = join(folder, "modules");
  for (const [path, content] of Object.entries(TREE)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  mkdirSync(join(modules, "tap"), { recursive: true });
  writeFileSync(join(modules, "tap/index.js"), TAP);
  const tests = ["test/add.js", "test/zero.js"];
  return {
    key: "adder@1.0.0-000000000000",
    entry: {
      name: "adder",
      source: "npm:adder@1.0.0",
      role: "train",
      sources: ["index.js"],
      tests,
      framework: "tape",
    },
    root,
    modules,
    image: null,
    mounts: [{ source: modules, target: "/repo/node_modules" }],
    env: {},
    commands: tests.map((path) => ({ scope: path, argv: ["node", path], format: "tap", reportFile: null })),
    baseline: { "test/add.js > adds > holds#1": "passed", "test/zero.js > zero > holds#1": "passed" },
    baselineRuns: 3,
    cpuSeconds: 0.1,
    unstable: [],
  };
}

/** Subtraction for addition; the test that finds it is hidden. */
export const tinyTask: Task = {
  id: "t0000000000000001",
  environment: "adder@1.0.0-000000000000",
  type: "bug",
  generator: "mutation",
  base: [
    text("index.js", "module.exports = (a, b) => a - b;\n"),
    { kind: "delete", path: "lib/names with 'quotes'.js" },
  ],
  gold: [
    text("index.js", "module.exports = (a, b) => a + b;\n"),
    text("lib/names with 'quotes'.js", "module.exports = 1;\n"),
  ],
  hiddenFiles: ["test/add.js"],
  failToPass: ["test/add.js > adds > holds#1"],
  passToPass: ["test/zero.js > zero > holds#1"],
  functions: ["adder#index.js#add"],
  facts: { sites: [], reproduction: null },
};

export const tinyStatement: Statement = {
  taskId: tinyTask.id,
  level: 1,
  text: "adder: a sum is wrong\n\nPlease correct it.\n",
  hash: "",
};
