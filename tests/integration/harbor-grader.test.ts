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
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { writeFiles } from "../../services/formats/output.ts";
import type { StandaloneTask } from "../../services/grading/index.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";

let folder: string;
let exported: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "harbor-grader-"));
  exported = join(folder, "exported");
  const environment = tinyEnvironment(join(folder, "environment"));
  const about = { task: tinyTask, statement: tinyStatement, environment };
  await writeFiles(exported, await harborFolder({ ...about, image: "none", network: "no-network" }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const contentOf = (path: string): string => readFileSync(join(exported, path), "utf8");

let boxes = 0;

/** Grades what `change` makes of the agent's tree, in folders that stand for the two boxes. */
function grade(
  change: (tree: string) => void,
  spoil: (archive: string) => void = () => {},
): { reward: number | null; rule: string; graded: string } {
  const box = join(folder, `box-${++boxes}`);
  const repo = join(box, "repo");
  const logs = join(box, "logs");
  const agent = join(box, "agent");
  for (const tree of [repo, agent]) cpSync(join(exported, "environment/tree"), tree, { recursive: true });
  cpSync(join(exported, "environment/mounts/0"), join(repo, "node_modules"), { recursive: true });
  change(agent);
  mkdirSync(logs);
  const archive = join(logs, "repo.tar");
  execFileSync("tar", ["-C", agent, "-cf", archive, "."]);
  spoil(archive);
  const task = JSON.parse(contentOf("tests/task.json")) as StandaloneTask;
  const repeatable = join(exported, "tests/repeatable.cjs");
  const here: StandaloneTask = {
    ...task,
    workdir: repo,
    agentArchive: archive,
    tests: join(exported, "tests/tree"),
    env: { ...task.env, PATH: process.env.PATH ?? "", NODE_OPTIONS: `--require=${repeatable}` },
  };
  writeFileSync(join(box, "task.json"), JSON.stringify(here));
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(exported, "tests/grader/main.mjs"), join(box, "task.json"), logs],
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
