/** What `tadpole env add` is given wrongly: one error that says what is wrong and what would do, the exit code of bad input, and nothing half made. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { describeError } from "../../apps/cli/errors.ts";
import { type AddOptions, addEnvironment } from "../../services/environments/add.ts";
import { environmentsFolder } from "../../services/environments/folders.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { TAR_END, tarEntry } from "../support/tar-entry.ts";

const run = promisify(execFile);

let scratch: string;
let registry: Server;
let grading: GradingService;
const data = () => join(scratch, "data");

const sdist = (name: string): Buffer =>
  gzipSync(Buffer.concat([tarEntry("p/a.py", "0", { content: "a = 1\n" }), tarEntry(name, "0"), TAR_END]));

/** Of projects that an index has, each in version 1.0. */
const FILES: Readonly<Record<string, Buffer>> = {
  "climber-1.0.tar.gz": sdist("p/../../x.py"),
  "rooted-1.0.tar.gz": sdist("/etc/x.py"),
  "testless-1.0.tar.gz": sdist("p/b.py"),
  "wheeled-1.0-py3-none-any.whl": Buffer.alloc(0),
};

/** What npm, PyPI's index and Go's proxy answer with; all that is not here is not there. */
function answer(path: string): Buffer | object | undefined {
  if (path.startsWith("/files/")) return FILES[path.slice("/files/".length)];
  const [, project] = /^\/simple\/([^/]+)\/$/.exec(path) ?? [];
  const files = Object.entries(FILES).filter(([filename]) => filename.startsWith(`${project}-`));
  if (project !== undefined && files.length > 0)
    return {
      files: files.map(([filename, bytes]) => ({
        filename,
        url: `/files/${filename}`,
        hashes: { sha256: createHash("sha256").update(bytes).digest("hex") },
      })),
    };
  if (path !== "/npm/small") return undefined;
  const version = {
    name: "small",
    version: "1.0.0",
    dist: { tarball: "http://localhost/none", shasum: "0" },
  };
  return { name: "small", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
}

/** A repository of one commit; its source for `env add`. */
async function repository(name: string, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(scratch, name);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const git = (...args: string[]) => run("git", args, { cwd: folder });
  await git("-c", "init.defaultBranch=main", "init", "--quiet");
  await git("add", "-A");
  await git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "one");
}

const SOURCE = { "index.js": "exports.one = 1;\n" };
const TESTED = { ...SOURCE, "package.json": '{"scripts":{"test":"node --test"}}' };
const test = (body: string) => `const { test } = require("node:test");\n${body}\n`;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "refused-"));
  const runtime = createProcessRuntime({ root: join(scratch, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
  registry = createServer(({ url }, response) => {
    const found = answer(url ?? "");
    response.statusCode = found === undefined ? 404 : 200;
    response.end(Buffer.isBuffer(found) ? found : JSON.stringify(found ?? { error: "not found" }));
  });
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
  vi.stubEnv("npm_config_registry", `${address}/npm/`);
  vi.stubEnv("PIP_INDEX_URL", `${address}/simple`);
  vi.stubEnv("GOPROXY", `${address}/go`);
  vi.stubEnv("GONOPROXY", "");
  await mkdir(join(scratch, "bare-folder"));
  await repository("testless", TESTED);
  await repository("untold", { ...SOURCE, "package.json": "{}", "test/a.js": "" });
  await repository("unreadable", { ...SOURCE, "package.json": "{", "test/a.js": "" });
  await repository("silent", { ...TESTED, "test/a.js": "" });
  await repository("failing", { ...TESTED, "test/a.js": test('test("bad", () => { throw 1; })') });
  await repository("endless", {
    ...TESTED,
    "test/a.js": test('test("a", () => new Promise(() => setInterval(() => {}, 9)))'),
  });
  const turns = 'test("fine", () => {});\ntest("turn " + process.hrtime.bigint(), () => {});';
  await repository("flaky", { ...TESTED, "test/a.js": test(turns) });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  registry.close();
  await grading.close();
  await rm(scratch, { recursive: true, force: true });
});

interface Case {
  readonly what: string;
  readonly source: string;
  readonly options?: Partial<AddOptions>;
  readonly kind: string;
  readonly message: RegExp;
}

it.each<Case>([
  {
    what: "no source",
    source: "small@1.0.0",
    kind: "unknown",
    message: /^"small@1.0.0": expected npm:<package>@/,
  },
  {
    what: "a name of the catalogue",
    source: "npm:minimist@9.9.9",
    kind: "unknown",
    message: /an environment minimist already; choose another --name/,
  },
  {
    what: "a name that is none",
    source: "npm:small@1.0.0",
    options: { name: "A b" },
    kind: "unknown",
    message: /^--name: expected .*found "A b"/,
  },
  {
    what: "npm: no such package",
    source: "npm:none@1.0.0",
    kind: "no-source",
    message: /^npm:none@1.0.0: the registry has no package none$/,
  },
  {
    what: "npm: no such version",
    source: "npm:small@2.0.0",
    kind: "no-source",
    message: /^npm:small@2.0.0: .*no such version; npm view small versions/,
  },
  {
    what: "pypi: no such project",
    source: "pypi:none==1.0",
    kind: "no-source",
    message: /pypi:none: the index http.* has no such project/,
  },
  {
    what: "pypi: no such version",
    source: "pypi:testless==2.0",
    kind: "no-source",
    message: /has nothing of that version; .*which it has of 1\.0$/,
  },
  {
    what: "pypi: wheels alone",
    source: "pypi:wheeled==1.0",
    kind: "no-source",
    message: /has only wheels of that version; expected a source package/,
  },
  {
    what: "pypi: no tests",
    source: "pypi:testless==1.0",
    kind: "unknown",
    message:
      /--tests: expected files of tests, found no test files under the usual names; name them by --tests <glob>/,
  },
  {
    what: "pypi: no file of requirements",
    source: "pypi:testless==1.0",
    options: { requirements: "/none.txt" },
    kind: "unknown",
    message: /^--requirements: no such file: \/none\.txt/,
  },
  {
    what: "an archive with ..",
    source: "pypi:climber==1.0",
    kind: "install",
    message: /^pypi:climber==1.0: entry "p\/\.\.\/\.\.\/x\.py": expected a path inside/,
  },
  {
    what: "an archive with an absolute path",
    source: "pypi:rooted==1.0",
    kind: "install",
    message: /^pypi:rooted==1.0: entry "\/etc\/x\.py": .*absolute/,
  },
  {
    what: "go: a module of another major",
    source: "go:example.org/a@v3.1.0",
    kind: "no-source",
    message: /the path of a Go module ends in it: go:example\.org\/a\/v3@v3\.1\.0, or @v3/,
  },
  {
    what: "go: no such version",
    source: "go:example.org/a@v1.0.0",
    kind: "no-source",
    message: /no such version; go list -m -versions example\.org\/a/,
  },
  {
    what: "git: no repository",
    source: "git:bare-folder@main",
    kind: "no-source",
    message: /: no git repository at .*bare-folder$/,
  },
  {
    what: "git: nothing there",
    source: "git:nowhere@main",
    kind: "no-source",
    message: /: no git repository at .*nowhere$/,
  },
  {
    what: "git: no such ref",
    source: "git:testless@v9",
    kind: "no-source",
    message: /: no branch, tag or commit v9; git ls-remote .*testless lists/,
  },
  {
    what: "git: no such commit",
    source: `git:testless@${"1".repeat(40)}`,
    kind: "no-source",
    message: /: no branch, tag or commit 1{40};/,
  },
  {
    what: "git: no tests",
    source: "git:testless@main",
    kind: "unknown",
    message:
      /--tests: expected files of tests, found no test files under the usual names; name them by --tests <glob>/,
  },
  {
    what: "git: no framework",
    source: "git:untold@main",
    kind: "unknown",
    message: /name one by --framework, or a command by --test and --format/,
  },
  {
    what: "git: a broken package.json",
    source: "git:unreadable@main",
    kind: "unknown",
    message: /unreadable@main: package\.json: /,
  },
  {
    what: "an option of another kind of source",
    source: "git:testless@main",
    options: { workdir: "/x" },
    kind: "unknown",
    message: /^--workdir: expected with docker: sources only/,
  },
  {
    what: "tests that report nothing",
    source: "git:silent@main",
    options: { test: { argv: ["true"], format: "tap", reportFile: null } },
    kind: "tests-fail",
    message: /^silent: its tests, .*reported no test/,
  },
  {
    what: "tests that fail",
    source: "git:failing@main",
    kind: "tests-fail",
    message: /^failing: 1 of 1 tests fail untouched:\n {2}bad\n/,
  },
  {
    what: "tests that never end",
    source: "git:endless@main",
    options: { wallSeconds: 1 },
    kind: "tests-fail",
    message: /stopped by the timeout limit of 1 s/,
  },
  {
    what: "tests that change",
    source: "git:flaky@main",
    kind: "unstable",
    message: /^flaky: 2 of 3 tests changed in 2 runs of the same tree:\n {2}turn \d+/,
  },
])("$what", async ({ source, options, kind, message }) => {
  const at = source.replace(/^git:/, `git:${scratch}/`);
  const error = await addEnvironment({
    source: at,
    dataFolder: data(),
    runTests: (request) => grading.runTests(request, "cold"),
    repeats: 2,
    ...options,
  }).catch((cause: unknown) => cause);
  expect(describeError(error)).toEqual({
    kind,
    message: expect.stringMatching(message),
    exitCode: kind === "install" ? 1 : 2,
  });
  expect(await readdir(join(environmentsFolder(data()), "added")).catch(() => [])).toEqual([]);
  const left = await readdir(environmentsFolder(data())).catch(() => []);
  expect(left.filter((name) => name.startsWith(".tmp-") || name.includes("@"))).toEqual([]);
});
