/** From a delivery and a tree to a candidate, and what an author has to put right first; without a model. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, TaskType } from "../../core/task.ts";
import { type Assignment, candidateOf } from "../../services/author/candidate.ts";
import { type Delivery, readDelivery } from "../../services/author/delivery.ts";
import { problemsOfPaths } from "../../services/author/test-paths.ts";
import { findEntry, loadCatalogue } from "../../services/environments/index.ts";
import { mayChange } from "../../services/synthesis/split.ts";
import { touchedFunctions } from "../../services/synthesis/touched.ts";
import { PLAYS } from "../support/scripted-author/plays.ts";
import { tinyEnvironment } from "../support/tiny-environment.ts";

const folder = mkdtempSync(join(tmpdir(), "author-candidate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const environment = tinyEnvironment(folder);

const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

const SOUND = {
  title: "Sums of text",
  body: "Text should be added too.",
  tests: [{ path: "test/text.js", content: "1;\n" }],
};

function deliver(
  mode: TaskType,
  changes: readonly FileChange[],
  change: Partial<Delivery> = {},
  functions = "all",
) {
  const assignment: Assignment = {
    environment,
    brief: { functions: functions as "all", heldOutShare: functions === "all" ? 0 : 1 },
    mode,
    operator: `${mode}: x`,
    author: { model: "m", mode, prompt: "p", promptHash: "h", repairs: 0 },
  };
  const parts = { mayChange, touched: touchedFunctions };
  const read = readDelivery({ ...SOUND, ...change });
  if ("problems" in read) throw new Error(read.problems.join("; "));
  return candidateOf(parts, assignment, read.delivery, changes);
}

const problemsOf = (made: ReturnType<typeof deliver>): string =>
  "problems" in made ? made.problems.join("\n") : "";
const SOLVED = write("index.js", "module.exports = (a, b) => a + b + '';\n");

describe("a candidate", () => {
  it("of a bug is broken by the author's change and healed by the way back", () => {
    const broken = write("index.js", "module.exports = (a, b) => a - b;\n");
    const made = deliver("bug", [broken]);
    expect(made).toMatchObject({
      candidate: { type: "bug", base: [broken], sites: [{ operator: "bug: x" }] },
    });
    if ("problems" in made) return;
    expect(composeChanges(made.candidate.base, made.candidate.gold)).toEqual([
      write("index.js", readFileSync(join(environment.root, "index.js"), "utf8")),
    ]);
    expect(made.candidate.functions).toEqual(["adder#index.js#exports"]);
  });

  it("of a bug that the package has is the snapshot, solved by the author's repair", () => {
    expect(deliver("bug", [SOLVED], { solved: true })).toMatchObject({
      candidate: { type: "bug", base: [], gold: [SOLVED] },
    });
  });

  it("of another type is the snapshot, solved by the author's change without its tests", () => {
    const test = write("test/text.js", "2;\n");
    expect(deliver("feature", [SOLVED, test])).toMatchObject({
      candidate: { base: [], gold: [SOLVED], tests: [write("test/text.js", "1;\n")], text: { contract: "" } },
    });
  });

  it.each<[string, TaskType, FileChange[], Partial<Delivery>, string]>([
    ["nothing was changed", "bug", [], {}, "sources are as they were"],
    [
      "a test was changed",
      "bug",
      [SOLVED, write("test/add.js", "0;\n")],
      {},
      "test/add.js is a test of the repository",
    ],
    ["a scratch file is left", "bug", [SOLVED, write("notes.txt", "x")], {}, "notes.txt is no source"],
    [
      "a manifest was changed",
      "feature",
      [SOLVED, write("package.json", "{}")],
      {},
      "package.json is no source",
    ],
    ["a link was made", "bug", [{ kind: "symlink", path: "a.js", target: "/etc" }], {}, "symbolic link"],
    ["a feature has no test", "feature", [SOLVED], { tests: [] }, "at least one is expected"],
    [
      "a test is a source",
      "feature",
      [SOLVED],
      { tests: [{ path: "index.js", content: "1" }] },
      "index.js is a source",
    ],
    ...(
      [
        ["test", "test is a folder"],
        ["lib/names with 'quotes'.js/x.js", "lib/names with 'quotes'.js is a file"],
        ["index.js/x.js", "index.js/x.js cannot be, for index.js is a file"],
        ["package.json", "says how tools install, load or run"],
        ["test/package.json", "says how tools install, load or run"],
        ["test/.npmrc", "says how tools"],
        ["test/jest.config.js", "says how tools"],
        ["test/vitest.config.mts", "says how tools"],
        ["test/conftest.py", "says how tools"],
        ["test/.gitattributes", "says how tools"],
        [
          "lib/more.js",
          "lib/more.js does not stand where the package's tests do (test/add.js, test/zero.js)",
        ],
        ["notes/test.txt", "does not stand where"],
      ] as const
    ).map(([path, said]): [string, TaskType, FileChange[], Partial<Delivery>, string] => [
      `a test is ${path}`,
      "feature",
      [SOLVED],
      { tests: [{ path, content: "1" }] },
      said,
    ]),
    [
      "a test is the folder of another",
      "feature",
      [SOLVED],
      {
        tests: [
          { path: "test/lib", content: "1" },
          { path: "test/lib/a.js", content: "1" },
        ],
      },
      "test/lib is a folder\ntests: test/lib/a.js cannot be, for test/lib is a file",
    ],
    [
      "a test is a folder of the change",
      "feature",
      [SOLVED, write("tests/a.js", "1;\n")],
      { tests: [{ path: "tests", content: "1" }] },
      "tests is a folder",
    ],
    [
      "the solution loads a hidden test",
      "feature",
      [write("index.js", "module.exports = require('./test/text');\n")],
      {},
      "index.js loads test/text.js: the solution must do without the hidden tests",
    ],
    ["a source holds a NUL", "bug", [write("index.js", "'\0';\n")], {}, "index.js is no text"],
    [
      "a hundred files are left",
      "bug",
      Array.from({ length: 101 }, (_, i) => write(`${i}.js`, "1;\n")),
      {},
      "the tree differs in 101 files, where at most 100 may",
    ],
    [
      "megabytes are left",
      "bug",
      [SOLVED, write("data.js", "1;".repeat(500_000))],
      {},
      "where at most 1000000 may",
    ],
    ...(
      [
        ["index.js", "check.workload: index.js is a source"],
        ["test", "check.workload: test is a folder"],
        ["test/text.js", "check.workload: test/text.js is among tests"],
      ] as const
    ).map(([path, said]): [string, TaskType, FileChange[], Partial<Delivery>, string] => [
      `a workload is ${path}`,
      "performance",
      [SOLVED],
      { check: { type: "performance", minSpeedup: 2, workload: { path, content: "1" } } },
      said,
    ]),
    ["what is solved is no bug", "feature", [SOLVED], { solved: true }, "solved: it is for bugs"],
    [
      "a bug that was there has no test",
      "bug",
      [SOLVED],
      { solved: true, tests: [] },
      "at least one is expected",
    ],
    ["a check is missing", "refactor", [SOLVED], {}, "check: one of type refactor is expected"],
    [
      "a check is of another type",
      "performance",
      [SOLVED],
      { check: { type: "migration", absent: ["a"], present: [] } },
      "one of type performance",
    ],
    [
      "a check is too many",
      "bug",
      [SOLVED],
      { check: { type: "migration", absent: ["a"], present: [] } },
      "none is expected",
    ],
  ])("is none where %s", (_, mode, changes, change, said) => {
    expect(problemsOf(deliver(mode, changes, change))).toContain(said);
  });

  it.each(["test/add.js", "test/deep/er.js", "test/data.json", "tests/x.js", "test-x.js", "lib/x.test.js"])(
    "may have a test at %s",
    (path) => {
      expect(problemsOf(deliver("feature", [SOLVED], { tests: [{ path, content: "1" }] }))).toBe("");
    },
  );

  it("may have tests at every path that the hand-made tasks have", async () => {
    const catalogue = await loadCatalogue();
    for (const { tests = [], environment: name } of PLAYS) {
      const entry = findEntry(catalogue, name);
      const paths = tests.map(({ path }) => path);
      expect(problemsOfPaths({ root: folder, entry }, [], paths)).toEqual([]);
    }
  });

  it("is none where a function is changed that is held out", () => {
    expect(problemsOf(deliver("feature", [SOLVED], {}, "train"))).toContain(
      "exports in index.js is changed, and is one of the functions that must stay as they are",
    );
  });

  it("of a migration may change the list of dependencies", () => {
    const check = { type: "migration", absent: ["a"], present: ["b"] } as const;
    const made = deliver("migration", [SOLVED, write("package.json", "{}")], {
      check: { ...check, absent: ["a"], present: ["b"] },
    });
    expect(made).toMatchObject({ candidate: { check } });
  });
});
