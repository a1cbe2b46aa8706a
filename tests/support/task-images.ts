/** Images as other projects' tasks have them: a real Python package at /testbed, as it was or with a bug, and the tools of its tests. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "../../core/task.ts";
import { loadCatalogue, prepareEnvironment } from "../../services/environments/index.ts";
import { buildImage } from "../../services/formats/index.ts";
import { parseReport } from "../../services/grading/parsers/index.ts";
import { connectDocker, encode, ensureBaseImage, type SandboxRuntime } from "../../services/sandbox/index.ts";

/** Short hashes are padded from the wrong place. */
const BUG = {
  file: "hashids.py",
  good: "    split_at = len(alphabet) // 2",
  bad: "    split_at = len(alphabet) // 3",
};
const TEST_FILE = "test/test_hashids.py";
/** The test that a pull request brings. */
const TEST = /\n {4}def test_min_length\(self\):\n(?:(?: {8}.*)?\n)*?(?= {4}def )/;

export interface TaskImages {
  /** Image ids: the package as it is, and with the bug and without its test. */
  readonly good: string;
  readonly bad: string;
  /** bad -> good, sources alone and tests alone, as git writes them. */
  readonly patch: string;
  readonly testPatch: string;
  /** good -> bad, sources alone. */
  readonly bugPatch: string;
  readonly testFile: string;
  /** pytest's ids in `TEST_FILE`, by running them. */
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** The good tree's tests, for images that hide them. */
  readonly tests: readonly FileChange[];
  remove(): Promise<void>;
  /** An image that holds more files, by absolute path. */
  derive(from: string, files: readonly FileChange[]): Promise<string>;
}

function filesBelow(folder: string, at: string): FileChange[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry): FileChange => {
      const host = join(entry.parentPath, entry.name);
      return { kind: "write", path: `${at}${host.slice(folder.length)}`, ...encode(readFileSync(host)) };
    });
}

const textOf = (files: readonly FileChange[], path: string): string => {
  const file = files.find((one) => one.path === path);
  if (file?.kind !== "write") throw new Error(`no file ${path}`);
  return Buffer.from(file.content, file.encoding).toString("utf8");
};

const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

/** What `git diff` says between two texts of a file. */
function gitDiff(scratch: string, path: string, from: string, to: string): string {
  const folder = mkdtempSync(join(scratch, "diff-"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: folder },
    });
  const file = path.split("/").at(-1)!;
  const prefix = path.slice(0, path.length - file.length);
  git("init", "-q");
  writeFileSync(join(folder, file), from);
  git("add", "-A");
  git("commit", "-q", "-m", "a");
  writeFileSync(join(folder, file), to);
  const diff = git("diff", `--src-prefix=a/${prefix}`, `--dst-prefix=b/${prefix}`);
  rmSync(folder, { recursive: true });
  return diff;
}

export async function makeTaskImages(scratch: string, runtime: SandboxRuntime): Promise<TaskImages> {
  const { docker } = connectDocker();
  const made: string[] = [];
  const environment = await prepareEnvironment({
    name: "hashids",
    catalogue: await loadCatalogue(),
    dataFolder: scratch,
    repeats: 0,
    runTests: () => Promise.reject(new Error("not run")),
  });
  const tree = filesBelow(environment.root, "");
  const tools = environment.mounts.flatMap(({ source, target }) => filesBelow(source, target));
  const base = await ensureBaseImage();
  const build = async (from: string, files: readonly FileChange[]) => {
    const id = await buildImage(docker, {
      dockerfile: "Dockerfile",
      files: [
        write(
          "Dockerfile",
          `FROM ${from}\nUSER root\nCOPY files /\nENV PYTHONPATH=/testbed:/opt/python PYTEST_DISABLE_PLUGIN_AUTOLOAD=1\nWORKDIR /testbed\n`,
        ),
        ...files.map((file) => ({ ...file, path: `files${file.path}` })),
      ],
    });
    made.push(id);
    return id;
  };
  const imageOf = (files: readonly FileChange[]) =>
    build(base, [...files.map((file) => ({ ...file, path: `/testbed${file.path}` })), ...tools]);
  const source = textOf(tree, `/${BUG.file}`);
  const tests = textOf(tree, `/${TEST_FILE}`);
  const buggy = source.replace(BUG.good, BUG.bad);
  const fewer = tests.replace(TEST, "\n");
  if (buggy === source || fewer === tests) throw new Error("the package is not what the bug was made for");
  const badTree = tree.map((file) =>
    file.path === `/${BUG.file}`
      ? write(file.path, buggy)
      : file.path === `/${TEST_FILE}`
        ? write(file.path, fewer)
        : file,
  );
  const [good, bad] = [await imageOf(tree), await imageOf(badTree)];
  const passing = (image: string, changes: readonly FileChange[]) =>
    passingTests(runtime, environment.root, image, changes);
  const withFix = await passing(good, []);
  const withBug = await passing(good, [write(BUG.file, buggy)]);
  return {
    good,
    bad,
    patch: gitDiff(scratch, BUG.file, buggy, source),
    testPatch: gitDiff(scratch, TEST_FILE, fewer, tests),
    bugPatch: gitDiff(scratch, BUG.file, source, buggy),
    testFile: TEST_FILE,
    failToPass: withFix.filter((name) => !withBug.includes(name)),
    passToPass: withFix.filter((name) => withBug.includes(name)),
    tests: [write(TEST_FILE, tests)],
    derive: (from, files) => build(from, files),
    remove: async () => {
      for (const id of made.reverse())
        await docker
          .getImage(id)
          .remove({ force: true })
          .catch(() => {});
    },
  };
}

/** What really passes in an image with changes in its tree. */
async function passingTests(
  runtime: SandboxRuntime,
  root: string,
  reference: string,
  overlay: readonly FileChange[],
): Promise<string[]> {
  const sandbox = await runtime.create(
    {
      root,
      image: { reference, workdir: "/testbed" },
      overlay,
      mounts: [],
      limits: { memoryMb: 1024, processes: 64, diskMb: 256 },
      env: {},
    },
    {
      experiment: "test",
      slot: "images/1",
      attempt: 1,
      fence: crypto.randomUUID(),
      deadline: Date.now() + 600_000,
    },
  );
  try {
    const argv = ["python3", "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--color=no", TEST_FILE];
    const { stdout, stderr, exitCode } = await sandbox.exec(argv, {
      timeoutSeconds: 120,
      outputBytes: 2 ** 22,
    });
    const text = Buffer.from(stdout).toString("utf8");
    const report = parseReport("pytest", {
      text,
      stderr: "",
      truncated: false,
      exitCode,
      scope: "",
      workdir: "/testbed",
    });
    if (!report.complete) throw new Error(`pytest: ${text}${Buffer.from(stderr).toString("utf8")}`);
    return Object.keys(report.statuses).filter((name) => report.statuses[name] === "passed");
  } finally {
    await sandbox.destroy();
  }
}
