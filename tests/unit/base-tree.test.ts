/** The tree that a solver begins with, and who must not see in it what a task's base deletes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, Task } from "../../core/task.ts";
import { loadCatalogue } from "../../services/environments/index.ts";
import type { PreparedEnvironment } from "../../services/environments/types.ts";
import { attributesOf } from "../../services/synthesis/attributes.ts";
import { baseCode, baseText, filesOf } from "../../services/synthesis/base-tree.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import { checkOf } from "../../services/synthesis/checks/index.ts";
import { ownTexts } from "../../services/synthesis/contamination.ts";
import { answersElsewhere, findLeaks } from "../../services/synthesis/leaks.ts";
import type { Candidate } from "../../services/synthesis/types.ts";

let root: string;
let environment: PreparedEnvironment;

const SUM = "exports.sum = (values) => values.reduce((total, value) => total + value, 0);\n";
const DYNAMIC = "module.exports = (name) => require('./plugins/' + name);\n";
const BASE: FileChange[] = [
  writeText("index.js", SUM.replace("+ value", "- value")),
  { kind: "delete", path: "copy.js" },
  { kind: "delete", path: "load.js" },
];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "base-tree-"));
  mkdirSync(join(root, "lib"));
  const files = { "index.js": SUM, "copy.js": SUM, "load.js": DYNAMIC, "lib/a.js": "1;\n", "a.md": "text\n" };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  const entry = (await loadCatalogue()).entries.find(({ name }) => name === "minimist")!;
  environment = { key: "minimist@1-0", entry, root, image: null } as unknown as PreparedEnvironment;
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

it("reads what the base writes, then the snapshot, and nothing where the tree has no file", () => {
  const read = baseText(root, BASE);
  expect(read("index.js")).toContain("- value");
  expect(read("lib/a.js")).toBe("1;\n");
  for (const path of ["copy.js", "lib", "new.js"]) expect(read(path)).toBe("");
});

it("has the code that the base leaves, and all that it writes", () => {
  const base = [...BASE, writeText("data.json", "{}")];
  expect([...baseCode(environment, base).keys()].sort()).toEqual(["data.json", "index.js", "lib/a.js"]);
  expect(filesOf(root).sort()).toEqual(["a.md", "copy.js", "index.js", "lib/a.js", "load.js"]);
});

it("finds no answer in a file that the base deletes", () => {
  const gold = [writeText("index.js", SUM)];
  expect(answersElsewhere(root, [BASE.slice(0, 1)], gold)).toEqual(["copy.js"]);
  expect(answersElsewhere(root, [BASE], gold)).toEqual([]);
});

it("takes a way of loading for known only where the base tree has it", () => {
  const known = (base: readonly FileChange[]) => {
    const candidate: Candidate = {
      type: "migration",
      generator: "llm",
      ...{ base, gold: [], sites: [], functions: [] },
    };
    const check = { type: "migration", absent: ["left-pad"], present: [] } as const;
    const made = checkOf(environment, candidate, check);
    if ("none" in made) throw new Error(made.none);
    const spec = made.files.find(({ path }) => path.endsWith("check.json"));
    if (spec?.kind !== "write") throw new Error("the check has no settings");
    return JSON.parse(spec.content).known;
  };
  expect(known([])).toEqual([DYNAMIC]);
  expect(known(BASE)).toEqual([]);
});

describe("a solution of the snapshot as it is", () => {
  const added = "exports.mean = (values) => exports.sum(values) / values.length;\n";
  const gold = [writeText("index.js", `${SUM}${added}`)];
  const site = { file: "index.js", functionName: "mean", line: 2, operator: "feature: x" };
  const sketchFrom = (base: readonly FileChange[], before = SUM) => {
    writeFileSync(join(root, "index.js"), before);
    const candidate = {
      type: "feature",
      generator: "llm",
      base,
      gold,
      sites: [site],
      functions: [],
    } as const;
    try {
      return attributesOf({ name: "small", root }, candidate).sketch;
    } finally {
      writeFileSync(join(root, "index.js"), SUM);
    }
  };

  it("is told by what it adds alone", () => {
    const own = ownTexts({ gold }, baseText(root, []));
    expect(own).toContainEqual({ part: "the solution", text: added.trimEnd() });
  });

  it("has the sketch of the same solution of a base that says what it begins with", () => {
    expect(sketchFrom([])).toBe(sketchFrom([writeText("index.js", SUM)], ""));
    expect(sketchFrom([])).toBe(sketchFrom([writeText("other.js", "1;\n")]));
    expect(sketchFrom([])).not.toBe(sketchFrom([], ""));
  });

  it("may be described by lines that were there before", () => {
    const text = { title: "A mean of numbers is missing", body: SUM.trim(), contract: "" };
    const task: Task = {
      ...{
        id: "t0000000000000001",
        environment: "small@1-0",
        type: "feature",
        generator: "llm",
        base: [],
        gold,
      },
      ...{ hiddenFiles: [], failToPass: [], passToPass: [], functions: [] },
      facts: { sites: [], reproduction: null, text },
    };
    const leaks = (body: string) =>
      findLeaks(task, { taskId: task.id, level: 0, text: `${text.title}\n\n${body}`, hash: "" }, root);
    expect(leaks(SUM)).toEqual([]);
    expect(leaks("as values.reduce((total, value) => total + value, 0) does")).toEqual([]);
    expect(leaks(added)).toHaveLength(1);
  });
});
