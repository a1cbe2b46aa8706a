/** Images as environments, on a real daemon: one with a Python project and its git history becomes an environment, is proven, and tasks are graded in it. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange, Task } from "../../core/task.ts";
import { findBoxCopies } from "../../services/environments/box-search.ts";
import {
  addEnvironment,
  historyOverlay,
  loadEntries,
  loadEnvironment,
  type PreparedEnvironment,
  pinImage,
  removeEnvironment,
  runtimeFolder,
  verifyEnvironment,
} from "../../services/environments/index.ts";
import { assertHistory } from "../../services/environments/snapshot.ts";
import { readTree } from "../../services/environments/tree.ts";
import { buildImage } from "../../services/formats/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import {
  connectDocker,
  createRuntime,
  encode,
  ensureBaseImage,
  type SandboxRuntime,
} from "../../services/sandbox/index.ts";

const { docker } = connectDocker();
const reason = await docker.ping().then(
  () => null,
  (error: Error) => error.message,
);
const runs = reason === null || process.env.CI === "true";

const WORKDIR = "/srv/projects/stack";
const SECRET = "the fix that a later commit brings";
const GOOD =
  "class Stack:\n    what_it_is = 'last in, first out, of anything'\n\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)\n\n    def pop(self):\n        return self.items.pop()\n";
const FILES = {
  "stack/__init__.py": "from stack.stack import Stack\n",
  "stack/stack.py": GOOD,
  "tests/__init__.py": "",
  "tests/test_stack.py":
    "import unittest\nfrom stack import Stack\n\n\nclass StackTest(unittest.TestCase):\n    def test_order(self):\n        s = Stack()\n        s.push(1)\n        s.push(2)\n        self.assertEqual([s.pop(), s.pop()], [2, 1])\n\n    def test_empty(self):\n        with self.assertRaises(IndexError):\n            Stack().pop()\n",
  "README.md": "A stack.\n",
  "run.sh": "#!/bin/sh\nexec python3 -m unittest -v tests.test_stack\n",
};
const TEST = { argv: ["sh", "run.sh"], format: "unittest", reportFile: null } as const;
/** As the image's own Python calls them. */
const ORDER = "test_order (tests.test_stack.StackTest.test_order)";
const EMPTY = "test_empty (tests.test_stack.StackTest.test_empty)";

const run = promisify(execFile);
let scratch: string;
let runtime: SandboxRuntime;
let grading: GradingService;
/** Images made here, newest last. */
const made: string[] = [];
let image: string;
const data = () => join(scratch, "data");

/** A working tree whose repository has a second commit, a stash, a tag and a remote beside what the image shows. */
async function repository(folder: string): Promise<void> {
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main", ...args], {
      cwd: folder,
    });
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(FILES)) await write(path, text);
  // No program by its first bytes, and one that nobody may run; a link that leads out of the tree.
  await chmod(join(folder, "README.md"), 0o755);
  await chmod(join(folder, "run.sh"), 0o644);
  await git("init", "-q");
  await git("add", "-A");
  await git("commit", "-qm", "first");
  await write("README.md", `${SECRET}\n`);
  await git("commit", "-qam", SECRET);
  await git("tag", "later");
  await git("reset", "-q", "--hard", "HEAD~1");
  await write("README.md", "stashed\n");
  await git("stash", "-q");
  await git("remote", "add", "origin", "https://example.org/stack.git");
}

async function filesBelow(folder: string): Promise<FileChange[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.map(async (path): Promise<FileChange> => {
      const executable = ((await stat(path)).mode & 0o111) !== 0;
      const at = `files${WORKDIR}${path.slice(folder.length)}`;
      return { kind: "write", path: at, ...encode(await readFile(path)), ...(executable && { executable }) };
    }),
  );
}

async function build(lines: readonly string[], files: readonly FileChange[]): Promise<string> {
  const dockerfile = {
    kind: "write",
    path: "Dockerfile",
    content: lines.join("\n"),
    encoding: "utf8",
  } as const;
  const id = await buildImage(docker, { dockerfile: "Dockerfile", files: [dockerfile, ...files] });
  made.push(id);
  return id;
}

const add = (changes: Partial<Parameters<typeof addEnvironment>[0]> = {}) =>
  addEnvironment({
    source: `docker:${image}`,
    name: "boxed-stack",
    dataFolder: data(),
    test: TEST,
    sources: ["stack/*.py"],
    tests: ["tests/*.py", "run.sh"],
    repeats: 2,
    runTests: (request) => grading.runTests(request, "cold"),
    ...changes,
  });

/** What a command prints in a fresh box. */
async function inBox(
  { root, env, mounts, image: pinned }: PreparedEnvironment,
  overlay: readonly FileChange[],
  script: string,
): Promise<string> {
  const fence = randomUUID();
  const sandbox = await runtime.create(
    { root, image: pinned!, overlay, mounts, limits: { memoryMb: 512, processes: 64, diskMb: 64 }, env },
    { experiment: "test", slot: fence, attempt: 0, fence, deadline: Date.now() + 300_000 },
  );
  try {
    const { stdout, stderr } = await sandbox.exec(["sh", "-c", script], {
      timeoutSeconds: 60,
      outputBytes: 1e6,
    });
    return Buffer.from(stdout).toString() + Buffer.from(stderr).toString();
  } finally {
    await sandbox.destroy();
  }
}

const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

describe.runIf(runs)("an image", () => {
  let environment: PreparedEnvironment;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "environments-docker-"));
    runtime = createRuntime("docker", { dataFolder: scratch, nodePath: process.execPath });
    const unavailable = await runtime.unavailable();
    if (unavailable !== null) throw new Error(unavailable);
    grading = createGrading({ runtime });
    const tree = join(scratch, "stack");
    await mkdir(tree);
    await repository(tree);
    const base = await ensureBaseImage();
    image = await build(
      [`FROM ${base}`, "USER root", "COPY files /", `WORKDIR ${WORKDIR}`, ""],
      [
        ...(await filesBelow(tree)),
        { kind: "symlink", path: `files${WORKDIR}/python`, target: "/usr/bin/python3" },
        { kind: "symlink", path: `files${WORKDIR}/same.md`, target: "README.md" },
      ],
    );
    environment = await add();
    made.push(environment.image!.reference);
  }, 300_000);
  afterAll(async () => {
    await grading?.close();
    for (const id of made.reverse())
      await docker
        .getImage(id)
        .remove({ force: true })
        .catch(() => {});
    await rm(scratch, { recursive: true, force: true });
  }, 60_000);

  it("becomes an environment of its working tree, its tests having run in it", async () => {
    expect(environment.baseline).toEqual({ [ORDER]: "passed", [EMPTY]: "passed" });
    expect(environment).toMatchObject({ unstable: [], baselineRuns: 2, image: { workdir: WORKDIR } });
    expect(environment.entry).toMatchObject({
      framework: "command",
      sources: ["stack/__init__.py", "stack/stack.py"],
    });
    const folder = runtimeFolder(data(), "docker");
    expect(await loadEnvironment(folder, environment.key)).toEqual(environment);
    expect(existsSync(join(data(), "environments", environment.key))).toBe(false);
    expect((await loadEntries(data())).entries.at(-1)).toMatchObject({ name: "boxed-stack", role: "unseen" });
    // The same image is pinned to the same one: its key stays.
    expect(await pinImage(image, undefined)).toEqual(environment.image);
  });

  it("shows a history of one commit, which is the tree's, and nothing of the one it had", async () => {
    const tree = await readTree(environment.root);
    assertHistory("boxed-stack", tree, "one");
    const script = [
      "git -c safe.directory='*' log --all --oneline | wc -l",
      "git -c safe.directory='*' status --porcelain",
      "git -c safe.directory='*' remote; git -c safe.directory='*' tag; git -c safe.directory='*' stash list",
      `git -c safe.directory='*' fsck --strict --full --unreachable 2>&1`,
      `grep -rl '${SECRET.slice(0, 12)}' ${WORKDIR}`,
    ].join("; ");
    // Links are the image's alone.
    expect((await inBox(environment, [], script)).trim().split("\n")).toEqual([
      "1",
      "?? python",
      "?? same.md",
    ]);
  }, 60_000);

  it("shows the history of a task's own tree where the task changes it", async () => {
    const base = [
      write("stack/stack.py", GOOD.replace("pop()", "pop(0)")),
      { kind: "delete", path: "README.md" } as const,
    ];
    const overlay = [...base, ...(await historyOverlay(environment, base))];
    const script =
      "git -c safe.directory='*' status --porcelain; git -c safe.directory='*' show --stat --format=%s HEAD | cat; git -c safe.directory='*' show HEAD:stack/stack.py | grep -c 'pop(0)'; git -c safe.directory='*' log --all --oneline | wc -l";
    const printed = await inBox(environment, overlay, script);
    expect(printed).not.toContain("README.md");
    expect(printed).not.toMatch(/^ ?[MD]/m);
    expect(printed.trim().split("\n").slice(-2)).toEqual(["1", "1"]);
  }, 60_000);

  it("is proven: the same from the image again, no second copy of the sources in all that its box shows", async () => {
    const proof = await verifyEnvironment({
      name: "boxed-stack",
      catalogue: await loadEntries(data()),
      dataFolder: runtimeFolder(data(), "docker"),
      runTests: (request) => grading.runTests(request, "cold"),
      runtime,
      repeats: 2,
    });
    expect(proof).toMatchObject({ key: environment.key, differences: [], tests: 2, unstable: [], runs: 4 });
  }, 240_000);

  it("is not proven where a copy lies beside its working tree, or anywhere else in the image", async () => {
    const copies = ["/srv/elsewhere/other.py", "/usr/lib/python3/dist-packages/copied/x.py"];
    const copied = await build(
      [`FROM ${image}`, "USER root", "COPY files /", ""],
      copies.map((path) => write(`files${path}`, GOOD)),
    );
    const pinned = await pinImage(copied, undefined);
    made.push(pinned.reference);
    const found = await findBoxCopies({ ...environment, image: pinned }, runtime);
    expect(found.map(({ file }) => file).sort()).toEqual(copies.sort());
  }, 240_000);

  it("has its tasks graded: the solution passes, doing nothing fails, and changed tests count for nothing", async () => {
    const bug = write("stack/stack.py", GOOD.replace("self.items.pop()", "self.items.pop(0)"));
    const task: Task = {
      id: "t0000000000000001",
      environment: environment.key,
      type: "bug",
      generator: "mutation",
      base: [bug],
      gold: [write("stack/stack.py", GOOD)],
      hiddenFiles: [],
      failToPass: [ORDER],
      passToPass: [EMPTY],
      functions: ["boxed-stack#stack/stack.py#pop"],
      facts: { sites: [], reproduction: null },
    };
    const grade = async (change: readonly FileChange[]) => {
      const verdict = await grading.grade({ environment, task, change, mode: "cold", reuse: false });
      return [verdict.outcome, verdict.rule];
    };
    expect(await grade(task.gold)).toEqual(["passed", "all-passed"]);
    expect(await grade([])).toEqual(["failed", "fail-to-pass-failed"]);
    const cheated = FILES["tests/test_stack.py"].replace("[2, 1]", "[1, 2]");
    expect(await grade([write("tests/test_stack.py", cheated), write("run.sh", "exit 0\n")])).toEqual([
      "failed",
      "fail-to-pass-failed",
    ]);
  }, 240_000);

  it("is refused with what is wrong, and nothing of it stays", async () => {
    const refused = [
      [{ source: "docker:tadpole-no-such-image:none" }, "expected an image that the daemon has, found none"],
      [{ workdir: "/no/such/folder" }, "/no/such/folder"],
      [{ tests: ["nowhere/*"] }, "--tests"],
      [{ test: { ...TEST, argv: ["sh", "-c", "exit 1"] } }, "reported no test"],
    ] as const;
    for (const [changes, message] of refused)
      await expect(add({ name: "refused", ...changes })).rejects.toThrow(message);
    expect(await readdir(join(data(), "environments", "added"))).toEqual(["boxed-stack"]);
  }, 240_000);

  it("leaves nothing behind that keeps the process which looked into it alive", async () => {
    const script = `
      import { assertFolder, withContainer } from "./services/environments/container.ts";
      const look = (folder) => withContainer(process.argv[1], ["true"], (box) => assertFolder(box, "it", folder, "none"));
      await look("${WORKDIR}");
      console.log(await look("/no/such").catch(({ kind }) => kind));`;
    const args = ["--input-type=module", "-e", script, image];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
    expect(stdout).toBe("unknown\n");
  }, 60_000);

  it("is added once what a killed one left an hour ago is gone", async () => {
    const folder = join(data(), "environments", "added");
    for (const name of [".tmp-old", ".tmp-new"]) await mkdir(join(folder, name));
    await utimes(join(folder, ".tmp-old"), 0, 0);
    await expect(add({ name: "again", source: "docker:tadpole-no-such-image:none" })).rejects.toThrow();
    expect((await readdir(folder)).sort()).toEqual([".tmp-new", "boxed-stack"]);
  });

  it("is removed with what was prepared of it", async () => {
    await removeEnvironment({
      dataFolder: data(),
      name: "boxed-stack",
      force: false,
      usedBy: async () => [],
    });
    await expect(loadEnvironment(runtimeFolder(data(), "docker"), environment.key)).rejects.toMatchObject({
      kind: "missing",
    });
  });
});
