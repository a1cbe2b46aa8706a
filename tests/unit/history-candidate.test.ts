/** Candidates of commits: their trees are those of the repository, and nothing of later commits is in them. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureType } from "../../core/failures.ts";
import { random } from "../../core/random.ts";
import type { FileChange, TaskType } from "../../core/task.ts";
import { readCommit } from "../../services/environments/git.ts";
import { historyOfPrepared, type PreparedEnvironment } from "../../services/environments/index.ts";
import { readTree, type Tree, writeTree } from "../../services/environments/tree.ts";
import { candidateOf } from "../../services/synthesis/history/candidate.ts";
import { historyGenerator } from "../../services/synthesis/history/index.ts";
import { type Brief, type Candidate, candidateKey, survey } from "../../services/synthesis/index.ts";
import { indexSites } from "../../services/synthesis/sites.ts";
import { type MadeCommit, Repository } from "../support/repository.ts";

const SETTINGS = { maxCommits: 100, maxFiles: 10, maxLines: 1000 };
const SOURCES = ["lib/a.js", "lib/b.js", "lib/c.js"];
const BRIEF: Brief = { functions: "all", heldOutShare: 0.5, history: SETTINGS };

let scratch: string;
let repository: Repository;
let environment: PreparedEnvironment;
let hashes: string[];
let made: readonly Candidate[];

const options = () => ({ dataFolder: join(scratch, "data") });

/** Files come, change and go; each text names its commit. */
function randomCommits(count: number): MadeCommit[] {
  const stream = random(1, "history");
  const there = new Set<string>();
  return Array.from({ length: count }, (_, i) => {
    const files: Record<string, string | null> = { "CHANGELOG.md": `written by commit ${i}\n` };
    for (const path of SOURCES) {
      const text = `// written by commit ${i}\nfunction f${i}(a) {\n  return a + ${i};\n}\nexports.f = f${i};\n`;
      const goes = there.has(path) && stream.integer(6) === 0;
      if (goes || stream.integer(2) === 0 || i === 0 || i === count - 1)
        files[path] = goes && i < count - 1 ? null : text;
      if (path in files) files[path] === null ? there.delete(path) : there.add(path);
    }
    files[`test/t${stream.integer(4)}.js`] = `require('tape')('commit ${i}', function (t) { t.end(); });\n`;
    return { message: `change ${i}`, files };
  });
}

async function environmentOf(
  of: Repository,
  name: string,
  tests: readonly string[],
): Promise<PreparedEnvironment> {
  const commit = of.git(["rev-parse", "main"]);
  const root = join(scratch, "data", "environments", `${name}@1`, "root");
  mkdirSync(root, { recursive: true });
  await writeTree(await readCommit(of.folder, commit, options()), root);
  const source = `git:${of.folder}@main`;
  const entry = { name, source, role: "train", sources: SOURCES, tests, framework: "tape", commit } as const;
  const nothing = { modules: "", image: null, mounts: [], env: {}, commands: [], baseline: {}, unstable: [] };
  return { key: `${name}@1`, entry, root, ...nothing, baselineRuns: 0, cpuSeconds: 0 };
}

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "history-"));
  repository = new Repository(join(scratch, "repository"));
  hashes = repository.commit(randomCommits(8));
  environment = await environmentOf(repository, "it", ["test"]);
  made = await candidates(environment);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function candidates(of: PreparedEnvironment): Promise<Candidate[]> {
  const history = historyOfPrepared(of)!;
  const rows = await survey(of.entry, history, SETTINGS);
  const found: Candidate[] = [];
  for (const row of rows)
    if ("usable" in row.outcome) found.push(await candidateOf(of, history, row, row.outcome.usable));
  return found;
}

function applied(tree: Tree, ...changes: readonly (readonly FileChange[])[]): Map<string, string> {
  const files = new Map([...tree].map(([path, content]) => [path, Buffer.from(content).toString("utf8")]));
  for (const change of changes.flat())
    if (change.kind === "write")
      files.set(change.path, Buffer.from(change.content, change.encoding).toString("utf8"));
    else files.delete(change.path);
  return files;
}

const contents = (tree: Tree) => applied(tree);
const only = (files: ReadonlyMap<string, string>, kept: (path: string) => boolean) =>
  [...files].filter(([path]) => kept(path)).sort(([a], [b]) => (a < b ? -1 : 1));

describe("the candidate of a commit", () => {
  it("goes from the parent's whole tree to the commit's sources, and brings its tests", async () => {
    const snapshot = await readTree(environment.root);
    expect(made.length).toBeGreaterThanOrEqual(4);
    for (const { base, gold, tests = [], origin } of made) {
      const { sha, parent } = origin!.commit!;
      const [before, after] = [parent, sha].map((hash) => readCommit(repository.folder, hash, options()));
      const [old, now] = [contents(await before!), contents(await after!)];
      expect(applied(snapshot, base)).toEqual(old);
      const isSource = (path: string) => path.startsWith("lib/");
      expect(only(applied(snapshot, base, gold), isSource)).toEqual(only(now, isSource));
      const isTest = (path: string) => path.startsWith("test/");
      expect(only(applied(snapshot, base, tests), isTest)).toEqual(only(now, isTest));
      expect(gold.every(({ path }) => isSource(path))).toBe(true);
    }
  });

  it("shows nothing of the commit or of later ones, and nothing of .git", async () => {
    const snapshot = await readTree(environment.root);
    for (const { base, origin, text } of made) {
      const at = hashes.indexOf(origin!.commit!.sha);
      const seen = [...applied(snapshot, base)].filter(([path]) => !path.startsWith(".git"));
      const told = [...seen.map(([, content]) => content), text!.title, text!.body].join("\n");
      const later = [...told.matchAll(/commit (\d+)/g)].map(([, i]) => Number(i)).filter((i) => i >= at);
      expect(later, `commit ${at}`).toEqual([]);
      expect(base.filter(({ path }) => path.startsWith(".git"))).toEqual([]);
      expect(hashes.filter((hash) => told.includes(hash.slice(0, 7)))).toEqual([]);
    }
  });

  it("names functions as a mutation of the parent's tree does, those without a name, too", async () => {
    const of = new Repository(join(scratch, "names"));
    const source = (number: number) =>
      `// ${number}\nmodule.exports = [1].map(function () { return ${number}; });\n`;
    const files = (number: number) => ({
      "lib/a.js": source(number),
      "test/a.js": `require('tape')(${number});\n`,
    });
    of.commit([1, 2].map((number) => ({ message: `[Fix] ${number}`, files: files(number) })));
    const named = await environmentOf(of, "names", ["test/a.js"]);
    const [fix] = (await candidates(named)) as [Candidate];
    const mutated = indexSites({ ...named, entry: { ...named.entry, sources: ["lib/a.js"] } });
    const keys = mutated.functions.map(({ key }) => key);
    expect(fix.functions).toEqual(["names#lib/a.js#<anonymous>:2"]);
    expect(keys).toContain(fix.functions[0]);
    expect(fix.sites).toMatchObject([{ functionName: "<anonymous>:2", line: 2 }]);
  });

  it("has a key of its own, also beside another commit with the same parent", async () => {
    expect(new Set(made.map(candidateKey)).size).toBe(made.length);
    const [first] = made as [Candidate];
    const commit = { ...first.origin!.commit!, sha: "0".repeat(40) };
    expect(candidateKey({ ...first, origin: { commit } })).not.toBe(candidateKey(first));
  });
});

describe("the generator", () => {
  /** It looks at a repository once. */
  const shared = historyGenerator();
  const drawn = async (of: PreparedEnvironment, brief: Brief, count: number, generator = shared) => {
    const found: (Candidate | { readonly none: string })[] = [];
    for (let i = 0; i < count; i++) found.push(await generator.generate(of, brief, random(7, "draw", i)));
    return found;
  };

  it("draws the same candidates from the same seed", async () => {
    const first = await drawn(environment, BRIEF, 3);
    expect(await drawn(environment, BRIEF, 3, historyGenerator())).toEqual(first);
    expect(new Set(first.map((one) => candidateKey(one as Candidate))).size).toBeGreaterThan(1);
  });

  it("keeps to one side of the held-out split, and skips commits that mix both", async () => {
    const keys = async (functions: Brief["functions"]) => {
      const found = await drawn(environment, { ...BRIEF, functions }, 8);
      return new Set(found.flatMap((one) => ("none" in one ? [] : one.functions)));
    };
    const [train, heldOut, all] = [await keys("train"), await keys("held-out"), await keys("all")];
    expect([...train].filter((key) => heldOut.has(key))).toEqual([]);
    expect(all.size).toBeGreaterThan(train.size + heldOut.size);
  });

  it("draws types by their weights, of those that there are", async () => {
    const of = new Repository(join(scratch, "types"));
    const test = (i: number) => `require('tape')('${i}', { option${i}: ${i} });\n`;
    of.commit([
      { message: "start", files: { "lib/a.js": "exports.a = 1;\n", "test/a.js": "require('tape');\n" } },
      ...Array.from({ length: 4 }, (_, i) => ({
        message: `[Fix] ${i}`,
        files: { "lib/a.js": `exports.a = ${i + 2};\n`, "test/a.js": test(i) },
      })),
      { message: "more", files: { "lib/b.js": "exports.option9 = 1;\n", "test/a.js": test(9) } },
    ]);
    const mixed = await environmentOf(of, "types", ["test/a.js"]);
    const none = { bug: 0, feature: 0, refactor: 0, migration: 0, performance: 0 };
    const typesOf = async (types: Readonly<Record<TaskType, number>>, count: number) =>
      (await drawn(mixed, { ...BRIEF, types }, count)).map((one) => ("none" in one ? one.none : one.type));
    expect(new Set(await typesOf({ ...none, feature: 1, migration: 9 }, 3))).toEqual(new Set(["feature"]));
    const even = await typesOf({ ...none, bug: 1, feature: 1 }, 10);
    // One commit in five is a feature.
    expect(even.filter((type) => type === "feature").length).toBeGreaterThan(2);
    expect(await typesOf({ ...none, performance: 1 }, 1)).toEqual([
      "no commit of types that the brief allows makes a task",
    ]);
  });

  it("does not take a repository that lacks the commit for one that is out of reach", async () => {
    const commit = "1".repeat(40);
    const of = { ...environment, key: "gone@1", entry: { ...environment.entry, commit } };
    const error = await drawn(of, BRIEF, 1).catch((cause: unknown) => cause);
    expect(failureType(error)).toBe("BadInput");
    expect((error as Error).message).toMatch(
      new RegExp(`^git:${repository.folder}: commit ${commit} is gone`),
    );
  });

  it("says which environment has no history", async () => {
    const npm = { ...environment, entry: { ...environment.entry, source: "npm:it@1.0.0" } };
    expect(await drawn(npm, BRIEF, 1)).toEqual([
      { none: "it has no history: history makes tasks of git environments" },
    ]);
  });
});
