/** The grader in exported Harbor folders decides by the one rule, on real trees by real processes, with nothing of ours around it. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, Task } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { writeFiles } from "../../services/formats/output.ts";
import { createGrading, type GradingService, type StandaloneTask } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";

let folder: string;
let exported: string;
let tiny: PreparedEnvironment;
let grading: GradingService;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "harbor-grader-"));
  exported = join(folder, "exported");
  tiny = tinyEnvironment(join(folder, "environment"));
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  await exportTo(exported, tinyTask, tiny);
});
afterAll(async () => {
  await grading?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function exportTo(to: string, task: Task, environment: PreparedEnvironment): Promise<void> {
  const about = { task, statement: tinyStatement, environment };
  await writeFiles(to, await harborFolder({ ...about, image: "none", network: "no-network" }));
}

let boxes = 0;

/** Grades what `change` makes of the agent's tree, in folders that stand for the two boxes. */
function grade(
  change: (tree: string) => void,
  spoil: (archive: string) => void = () => {},
  from = exported,
): { reward: number | null; rule: string; graded: string } {
  const box = join(folder, `box-${++boxes}`);
  const repo = join(box, "repo");
  const logs = join(box, "logs");
  const agent = join(box, "agent");
  for (const tree of [repo, agent]) cpSync(join(from, "environment/tree"), tree, { recursive: true });
  cpSync(join(from, "environment/mounts/0"), join(repo, "node_modules"), { recursive: true });
  change(agent);
  mkdirSync(logs);
  const archive = join(logs, "repo.tar");
  execFileSync("tar", ["-C", agent, "-cf", archive, "."]);
  spoil(archive);
  const task = JSON.parse(readFileSync(join(from, "tests/task.json"), "utf8")) as StandaloneTask;
  const repeatable = join(from, "tests/repeatable.cjs");
  const here: StandaloneTask = {
    ...task,
    workdir: repo,
    agentArchive: archive,
    tests: join(from, "tests/tree"),
    env: { ...task.env, PATH: process.env.PATH ?? "", NODE_OPTIONS: `--require=${repeatable}` },
  };
  writeFileSync(join(box, "task.json"), JSON.stringify(here));
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(from, "tests/grader/main.mjs"), join(box, "task.json"), logs],
    { encoding: "utf8" },
  );
  const read = (name: string) => JSON.parse(readFileSync(join(logs, name), "utf8"));
  if (status !== 0)
    return { reward: existsSync(join(logs, "reward.json")) ? -1 : null, rule: stderr, graded: repo };
  return { reward: read("reward.json").reward, rule: read("verdict.json").rule, graded: repo };
}

const solve = (tree: string) => {
  cpSync(join(exported, "solution/tree"), tree, { recursive: true });
};
const write = (path: string, content: string) => (tree: string) => writeFileSync(join(tree, path), content);

describe("the exported grader", () => {
  it("gives 1 for the reference solution and 0 for nothing", () => {
    expect(grade(solve)).toMatchObject({ reward: 1, rule: "all-passed" });
    expect(grade(() => {})).toMatchObject({ reward: 0, rule: "fail-to-pass-failed" });
  });

  it.each([
    ["a test is weakened", write("test/zero.js", 'require("tap")("zero", true);')],
    [
      "a passing report is printed",
      write("index.js", 'console.log("# adds\\nok 1 holds\\n1..1"); process.exit(0);'),
    ],
    [
      "a test tool is brought along",
      (tree: string) => {
        mkdirSync(join(tree, "node_modules/tap"), { recursive: true });
        writeFileSync(join(tree, "node_modules/tap/index.js"), "module.exports = () => {};");
      },
    ],
    [
      "everything is deleted",
      (tree: string) => {
        for (const name of readdirSync(tree)) rmSync(join(tree, name), { recursive: true });
      },
    ],
    [
      "the test folder is a link",
      (tree: string) => {
        rmSync(join(tree, "test"), { recursive: true });
        symlinkSync("/tmp", join(tree, "test"));
      },
    ],
  ])("gives 0 where %s", (_, change) => {
    expect(grade(change).reward).toBe(0);
  });

  it("takes the whole change: new, removed and replaced files, links, modes", () => {
    const { reward, graded } = grade((tree) => {
      solve(tree);
      write("index.js", 'module.exports = require("./lib");\n')(tree);
      writeFileSync(join(tree, "lib/index.js"), "module.exports = (a, b) => a + b;\n", { mode: 0o755 });
      symlinkSync("lib/index.js", join(tree, "link.js"));
      rmSync(join(tree, "lib/names with 'quotes'.js"));
    });
    expect(reward).toBe(1);
    expect(readdirSync(graded).sort()).toEqual([
      "index.js",
      "lib",
      "link.js",
      "node_modules",
      "package.json",
      "test",
    ]);
  });

  it("ends what never ends", () => {
    expect(grade(write("index.js", "for (;;);"))).toMatchObject({ reward: 0, rule: "timeout" });
  }, 30_000);

  it("gives no reward where there is no tree", () => {
    expect(
      grade(
        () => {},
        (archive) => rmSync(archive),
      ).reward,
    ).toBeNull();
  });
});

const file = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

function apply(changes: readonly FileChange[], tree: string): void {
  for (const change of changes) {
    const path = join(tree, change.path);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    if (change.kind === "write") writeFileSync(path, Buffer.from(change.content, change.encoding));
    if (change.kind === "symlink") symlinkSync(change.target, path);
  }
}

/** What tape does, as far as it is asked for here. */
const TAPE = `let n = 0;
process.on("exit", () => console.log("1.." + n));
const t = {
  is(ok, name) {
    console.log((ok ? "ok " : "not ok ") + ++n + " " + (name || "should"));
    if (!ok) process.exitCode = 1;
  },
  plan() {},
  ok: (value, name) => t.is(value, name),
  notOk: (value, name) => t.is(!value, name),
  equal: (a, b, name) => t.is(a === b, name),
  deepEqual: (a, b, name) => t.is(JSON.stringify(a) === JSON.stringify(b), name),
  throws(f) {
    try {
      f();
    } catch {
      return t.is(true);
    }
    t.is(false);
  },
};
module.exports = (name, body) => {
  console.log("# " + name);
  body(t);
};
module.exports.t = t;
`;

describe("the exported grader and the grading service", () => {
  const solved = tinyTask.gold;
  const cheat = 'require("tap")("adds", true);\n';
  const failsAlways = "test/old.js > old > holds#1";
  const report = "out/report.tap";
  const subject: Readonly<
    Record<string, (box: string) => { readonly task: Task; readonly environment: PreparedEnvironment }>
  > = {
    plain: () => ({ task: tinyTask, environment: tiny }),
    "with a test that fails in the untouched tree": (box) => {
      const environment = tinyEnvironment(box);
      writeFileSync(join(environment.root, "test/old.js"), 'require("tap")("old", false);\n');
      const path = "test/old.js";
      return {
        task: tinyTask,
        environment: {
          ...environment,
          key: "adder@1.0.0-000000000001",
          entry: { ...environment.entry, tests: [...environment.entry.tests, path] },
          commands: [
            ...environment.commands,
            { scope: path, argv: ["node", path], format: "tap", reportFile: null },
          ],
          baseline: { ...environment.baseline, [failsAlways]: "failed" },
        },
      };
    },
    "with a hidden file that is no test": (box) => {
      const environment = tinyEnvironment(box);
      writeFileSync(join(environment.root, "expected.json"), "5\n");
      writeFileSync(
        join(environment.root, "test/add.js"),
        `const test = require("tap");\ntest("adds", require("../index.js")(2, 3) === require("../expected.json"));\n`,
      );
      return {
        task: { ...tinyTask, hiddenFiles: [...tinyTask.hiddenFiles, "expected.json"] },
        environment: { ...environment, key: "adder@1.0.0-000000000002" },
      };
    },
    "with a report in the tree": (box) => {
      const environment = tinyEnvironment(box);
      writeFileSync(
        join(environment.root, "test/add.js"),
        `const fs = require("node:fs");\nconst ok = require("../index.js")(2, 3) === 5;\nfs.mkdirSync("out", { recursive: true });\nfs.writeFileSync("${report}", "# adds\\n" + (ok ? "ok" : "not ok") + " 1 holds\\n1..1\\n");\nif (!ok) process.exitCode = 1;\n`,
      );
      const commands = environment.commands.map((command) =>
        command.scope === "test/add.js" ? { ...command, reportFile: report } : command,
      );
      return { task: tinyTask, environment: { ...environment, key: "adder@1.0.0-000000000003", commands } };
    },
    "whose test tool is tape": (box) => {
      const environment = tinyEnvironment(box);
      const { root, modules } = environment;
      mkdirSync(join(modules ?? "", "tape"));
      writeFileSync(join(modules ?? "", "tape/index.js"), TAPE);
      for (const [name, sum] of [
        ["add", "adds(2, 3), 5"],
        ["zero", "adds(0, 0), 0"],
      ])
        writeFileSync(
          join(root, `test/${name}.js`),
          `const test = require("tape");\nconst adds = require("../index.js");\ntest("${name === "add" ? "adds" : name}", (t) => {\n  t.equal(${sum}, "holds");\n});\n`,
        );
      return { task: tinyTask, environment: { ...environment, key: "adder@1.0.0-000000000005" } };
    },
    "whose base changes what steers tests": (box) => ({
      task: { ...tinyTask, base: [...tinyTask.base, file("package.json", '{ "type": "module" }\n')] },
      environment: { ...tinyEnvironment(box), key: "adder@1.0.0-000000000004" },
    }),
  };
  const changes: Readonly<Record<string, readonly FileChange[]>> = {
    nothing: [],
    solution: solved,
    "a weakened test": [file("test/add.js", cheat), file("test/zero.js", cheat)],
    "a test folder that is a link": [{ kind: "symlink", path: "test", target: "lib" }, ...solved],
    "other modules": [file("package.json", '{ "type": "module" }\n'), ...solved],
    "a hidden file's content": [file("expected.json", "-1\n")],
    "the hidden file as it is not": [file("expected.json", "7\n"), ...solved],
    "a folder in the report's place": [file(`${report}/x`, ""), ...solved],
    "a file in the place of the folder above the report": [
      file("out", ""),
      file("index.js", "module.exports = (a, b) => a + b;\n"),
    ],
    "an early end": [file("index.js", 'console.log("# adds\\nok 1 holds\\n1..1"); process.exit(0);\n')],
    "a test tool whose assertions all pass": [
      file(
        "index.js",
        'try { const { t } = require("tape"); for (const name of Object.keys(t)) { const { is } = t; t[name] = () => is(true, "holds"); } } catch {}\nmodule.exports = () => 0;\n',
      ),
    ],
    "an error": [file("index.js", "throw new Error();\n")],
  };

  it.each(Object.keys(subject))(
    "give the same verdicts on a task %s",
    async (name) => {
      // NODE_OPTIONS has no blanks in its paths.
      const at = join(folder, name.replaceAll(" ", "-"));
      const { task, environment } = subject[name]!(join(at, "environment"));
      await exportTo(join(at, "exported"), task, environment);
      const verdicts = [];
      for (const [what, change] of Object.entries(changes)) {
        const here = await grading.grade({ environment, task, change, mode: "cold", reuse: false });
        const there = grade(
          (tree) => apply(change, tree),
          () => {},
          join(at, "exported"),
        );
        verdicts.push({ what, here: here.rule, there: there.rule });
      }
      expect(verdicts.filter(({ here, there }) => here !== there)).toEqual([]);
      const lies = verdicts.filter(({ here }) => here === "harness-tampered").map(({ what }) => what);
      expect(lies).toEqual(
        name === "whose test tool is tape" ? ["a test tool whose assertions all pass"] : [],
      );
      expect(verdicts.slice(0, 2).map(({ here }) => here)).toEqual(["fail-to-pass-failed", "all-passed"]);
    },
    120_000,
  );
});
