import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readArchive } from "../../services/environments/archive.ts";
import { findBoxCopies } from "../../services/environments/box-search.ts";
import {
  addEnvironment,
  loadEntries,
  loadEnvironment,
  type PreparedEnvironment,
  prepareEnvironment,
  type RunTests,
  removeEnvironment,
} from "../../services/environments/index.ts";
import { assertHistory } from "../../services/environments/snapshot.ts";
import { readTree, writeTree } from "../../services/environments/tree.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime, type SandboxRuntime } from "../../services/sandbox/index.ts";

const run = promisify(execFile);

let scratch: string;
let runtime: SandboxRuntime;
let grading: GradingService;
const runTests: RunTests = (request) => grading.runTests(request, "cold");
const data = () => join(scratch, "data");

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "environments-"));
  runtime = createProcessRuntime({ root: join(scratch, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
});
afterAll(async () => {
  await grading.close();
  await run("chmod", ["-R", "u+w", scratch]);
  await rm(scratch, { recursive: true, force: true });
});

/** What a command prints in a fresh box of the environment. */
async function inBox(environment: PreparedEnvironment, ...argv: string[]): Promise<string> {
  const { root, env, mounts } = environment;
  const fence = randomUUID();
  const limits = { memoryMb: 1024, processes: 128, diskMb: 256 };
  const sandbox = await runtime.create(
    { root, overlay: [], mounts, limits, env },
    { experiment: "test", slot: fence, attempt: 0, fence, deadline: Date.now() + 300_000 },
  );
  try {
    const { stdout, stderr } = await sandbox.exec(argv, { timeoutSeconds: 60, outputBytes: 1e6 });
    return Buffer.from(stdout).toString() + Buffer.from(stderr).toString();
  } finally {
    await sandbox.destroy();
  }
}

describe("a sample of each language of the catalogue", () => {
  it.each([
    ["striptags", "node"],
    ["pytimeparse", "python"],
    ["xstrings", "go"],
  ])(
    "%s is prepared, passes its own tests untouched, and its box holds no second copy",
    async (name) => {
      const environment = await prepareEnvironment({
        name,
        dataFolder: data(),
        runTests,
        repeats: 1,
        signal: AbortSignal.timeout(230_000),
      });
      const statuses = Object.values(environment.baseline);
      expect(statuses.length).toBeGreaterThanOrEqual(5);
      expect(statuses.filter((status) => status === "passed").length).toBeGreaterThan(0.9 * statuses.length);
      expect(await loadEnvironment(data(), environment.key)).toEqual(environment);
      expect(await findBoxCopies(environment, runtime)).toEqual([]);
      assertHistory(name, await readTree(environment.root), "none");
    },
    240_000,
  );

  it("Python's box has neither the host's packages nor the package's own, but its version", async () => {
    const environment = await prepareEnvironment({
      name: "pytimeparse",
      dataFolder: data(),
      runTests,
      repeats: 1,
    });
    const script = [
      "import sys, importlib.metadata as m, pytimeparse",
      "print(pytimeparse.__file__, m.version('pytimeparse'))",
      "print([d.metadata['Name'] for d in m.distributions() if 'dist-packages' in str(d._path)])",
    ].join("\n");
    expect((await inBox(environment, "python3", "-c", script)).split("\n")).toEqual([
      expect.stringMatching(/^\/repo\/.*pytimeparse\/__init__\.py \d/),
      "[]",
      "",
    ]);
  }, 120_000);

  it("Go's box compiles only what changed: the standard library comes from the read-only cache", async () => {
    const environment = await prepareEnvironment({
      name: "xstrings",
      dataFolder: data(),
      runTests,
      repeats: 1,
    });
    const script = "go test -count=1 -vet=off ./... && grep -la '^!<arch>' /tmp/go-objects/*/*-d | wc -l";
    const [verdict, compiled] = (await inBox(environment, "bash", "-c", script)).trim().split("\n");
    expect(verdict).toMatch(/^ok\s/);
    // The package, its tests, their main program.
    expect(Number(compiled)).toBeLessThan(6);
    expect(Object.keys(environment.env)).toContain("GOCACHEPROG");
    const own = await inBox(environment, "bash", "-c", "grep -rl huandu/xstrings /opt/go-cache | head -1");
    expect(own).toBe("");
  }, 120_000);
});

describe("the search of a box", () => {
  it("finds a copy of the sources in the system's own files, whatever it is called there", async () => {
    const whole = await prepareEnvironment({ name: "pytimeparse", dataFolder: data(), runTests, repeats: 1 });
    const root = join(scratch, "copied");
    const stdlib = (await inBox(whole, "python3", "-c", "import textwrap; print(textwrap.__file__)")).trim();
    const text = await inBox(whole, "cat", stdlib);
    await writeTree(new Map([["wrap.py", Buffer.from(text.replaceAll("    ", "  "))]]), root);
    const entry = { ...whole.entry, sources: ["wrap.py"] };
    const [copy] = await findBoxCopies({ ...whole, root, entry }, runtime);
    expect(copy).toMatchObject({ source: "wrap.py", file: stdlib });
    expect(copy!.share).toBeGreaterThan(0.9);
  }, 120_000);
});

describe("a commit of a git repository", () => {
  let repository: string;
  const git = async (...args: string[]): Promise<string> => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
    return (await run("git", [...identity, ...args], { cwd: repository })).stdout.trim();
  };
  const add = (ref: string, options: Partial<Parameters<typeof addEnvironment>[0]> = {}) =>
    addEnvironment({
      source: `git:${repository}@${ref}`,
      dataFolder: data(),
      runTests,
      repeats: 2,
      ...options,
    });

  beforeAll(async () => {
    repository = join(scratch, "shell-quote.git-work");
    await mkdir(repository);
    await git("init", "--quiet");
    for (const version of ["1.7.4", "1.8.0", "1.8.1"]) {
      await run("npm", ["pack", "--silent", `shell-quote@${version}`, "--pack-destination", scratch], {
        cwd: scratch,
      });
      const tree = readArchive("shell-quote", await readFile(join(scratch, `shell-quote-${version}.tgz`)));
      await git("rm", "-rqf", "--ignore-unmatch", ".");
      await writeTree(
        new Map([...tree].map(([path, content]) => [path.replace(/^package\//, ""), content])),
        repository,
      );
      await git("add", "-A");
      await git("commit", "-qm", version);
      await git("tag", `v${version}`);
    }
  }, 120_000);

  it("becomes an environment whose box has that commit's tree and nothing of those before and after", async () => {
    const environment = await add("v1.8.0", { name: "quote-git" });
    const { root, entry, unstable, baseline } = environment;
    expect(entry.commit).toBe(await git("rev-parse", "v1.8.0"));
    expect(entry).toMatchObject({ framework: "tape", sources: ["index.js", "parse.js", "quote.js"] });
    expect(Object.values(baseline).every((status) => status === "passed")).toBe(true);
    expect(Object.keys(baseline).length).toBeGreaterThan(50);
    expect(unstable).toEqual([]);
    const tree = await readTree(root);
    assertHistory("quote-git", tree, "one");
    expect(Buffer.from(tree.get("package.json")!).toString()).toContain('"version": "1.8.0"');
    const script =
      "git log --all --oneline | wc -l; git status --porcelain | grep -v node_modules; git remote; git stash list";
    expect((await inBox(environment, "bash", "-c", script)).trim()).toBe("1");
    const { entries } = await loadEntries(data());
    expect(entries.at(-1)).toMatchObject({ name: "quote-git", integrity: `commit:${entry.commit}` });
    const again = await prepareEnvironment({
      name: "quote-git",
      dataFolder: data(),
      runTests,
      repeats: 2,
    });
    expect(again).toEqual(environment);
  }, 120_000);

  it("is removed with what was prepared of it, unless an experiment uses it", async () => {
    const remove = (users: readonly string[], force = false) =>
      removeEnvironment({ dataFolder: data(), name: "quote-git", usedBy: async () => users, force });
    await expect(remove(["first"])).rejects.toMatchObject({
      kind: "in-use",
      message: expect.stringContaining("used by the experiment first"),
    });
    const environment = await prepareEnvironment({
      name: "quote-git",
      dataFolder: data(),
      runTests,
      repeats: 1,
    });
    await remove(["first"], true);
    await expect(loadEnvironment(data(), environment.key)).rejects.toMatchObject({ kind: "missing" });
    await expect(remove([])).rejects.toMatchObject({ kind: "unknown" });
  }, 60_000);
});
