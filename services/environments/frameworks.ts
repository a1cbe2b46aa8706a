/** How each framework's tests are run: commands, variables, limits. */
import type { TestCommand } from "../../core/task.ts";
import { type SourceKind, sourceOf } from "./sources.ts";
import type { CatalogueEntry, Framework, LimitOverrides } from "./types.ts";

/** Where Python's test tools and dependencies lie in a sandbox. */
export const PYTHON_TARGET = "/opt/python";
/** Where the host's Go lies in a sandbox, and the packages compiled beforehand with the program that hands them out. */
export const GO_TARGET = "/opt/go";
export const GO_CACHE_TARGET = "/opt/go-cache";

/**
 * Reports go to a file where the tool can write one: what tests print cannot disturb it. Beside the tree, so that they are no part of
 * a change.
 */
const REPORT_XML = "/tmp/test-report.xml";
const REPORT_TAP = "/tmp/test-report.tap";
const REPORT_JSON = "/tmp/test-report.json";

export type Language = "node" | "python" | "go" | "other";

/** Whether the environment's tree has a file. */
export type HasFile = (path: string) => boolean;

interface FrameworkRow {
  readonly language: Language;
  /** Packages that must be there whole, beside what the entry names. */
  readonly tools: readonly string[];
  readonly commands: (entry: CatalogueEntry, hasFile: HasFile) => readonly TestCommand[];
  /** Where the tool itself needs more than the usual limits. */
  readonly limits?: LimitOverrides;
}

const one = (
  argv: readonly string[],
  format: TestCommand["format"],
  reportFile: string | null,
): readonly TestCommand[] => [{ scope: "", argv, format, reportFile }];

/** Jest and Vitest bring parsers and transformers of their own; both start workers as they see fit unless told otherwise. */
const HEAVY: LimitOverrides = { memoryMb: 1024, processes: 128 };

const TABLE: Record<Framework, FrameworkRow> = {
  tape: {
    language: "node",
    tools: [],
    commands: ({ tests }) =>
      tests.map((file) => ({ scope: file, argv: ["node", file], format: "tap", reportFile: null })),
  },
  "node-test": {
    language: "node",
    tools: [],
    commands: ({ tests }) =>
      one(
        [
          ...["node", "--test", "--test-concurrency=1"],
          ...["--test-reporter=tap", `--test-reporter-destination=${REPORT_TAP}`],
          ...tests,
        ],
        "node-test",
        REPORT_TAP,
      ),
  },
  mocha: {
    language: "node",
    tools: ["mocha"],
    commands: ({ tests }) =>
      one(
        [
          "node",
          "node_modules/mocha/bin/mocha.js",
          "--reporter=json",
          `--reporter-option=output=${REPORT_JSON}`,
          ...tests,
        ],
        "mocha",
        REPORT_JSON,
      ),
  },
  jest: {
    language: "node",
    tools: ["jest"],
    commands: ({ tests }) =>
      one(
        [
          "node",
          "node_modules/jest/bin/jest.js",
          ...["--ci", "--runInBand", "--cacheDirectory=/tmp/jest", "--json", `--outputFile=${REPORT_JSON}`],
          ...tests,
        ],
        "jest",
        REPORT_JSON,
      ),
    limits: HEAVY,
  },
  vitest: {
    language: "node",
    tools: ["vitest"],
    commands: ({ tests }) =>
      one(
        [
          "node",
          "node_modules/vitest/vitest.mjs",
          ...["run", "--no-file-parallelism", "--no-cache", "--reporter=json", `--outputFile=${REPORT_JSON}`],
          ...tests,
        ],
        "vitest",
        REPORT_JSON,
      ),
    limits: HEAVY,
  },
  pytest: {
    language: "python",
    tools: [],
    // The package's own `addopts` name plugins for coverage and style that are not there.
    commands: ({ tests, tools = [] }) =>
      one(
        [
          ...["python3", "-m", "pytest", "-p", "no:cacheprovider", ...tools.flatMap((name) => ["-p", name])],
          ...["-o", "addopts=", "--color=no", `--junitxml=${REPORT_XML}`],
          ...tests,
        ],
        "junit",
        REPORT_XML,
      ),
  },
  unittest: {
    language: "python",
    tools: [],
    commands: ({ tests }, hasFile) => {
      const files = tests.filter((path) => path.endsWith(".py"));
      const folders = tests.filter((path) => !path.endsWith(".py"));
      return [
        ...(files.length > 0 ? one(["python3", "-m", "unittest", "-v", ...files], "unittest", null) : []),
        ...folders.map((folder) => discover(folder, hasFile)),
      ];
    },
  },
  "go-test": {
    language: "go",
    tools: [],
    commands: () => one(["go", "test", "-json", "-count=1", "-vet=off", "./..."], "go-test", null),
    // The compiler and the linker work beside each other, and leave objects and a program behind.
    limits: { memoryMb: 1024, processes: 256, diskMb: 256 },
  },
  command: {
    language: "other",
    tools: [],
    commands: ({ test }) => (test === undefined ? [] : [{ scope: "", ...test }]),
  },
};

/** A folder that is a package is imported as one: its tests may import each other. */
function discover(folder: string, hasFile: HasFile): TestCommand {
  const top = hasFile(`${folder}/__init__.py`) ? ["-t", "."] : [];
  return {
    scope: folder,
    argv: ["python3", "-m", "unittest", "discover", "-v", "-s", folder, ...top],
    format: "unittest",
    reportFile: null,
  };
}

const SOURCE_LANGUAGES: Record<SourceKind, Language> = {
  npm: "node",
  pypi: "python",
  go: "go",
  git: "other",
  docker: "other",
};

/** The language whose tools an entry's sandbox must have. */
export function languageOf(entry: Pick<CatalogueEntry, "framework" | "source" | "lock">): Language {
  const { language } = TABLE[entry.framework];
  if (language !== "other") return language;
  // Only npm's lockfiles are named so where the source is a repository.
  const { kind } = sourceOf(entry);
  if (kind === "git" && entry.lock !== undefined) return "node";
  return SOURCE_LANGUAGES[kind];
}

/** Packages the framework itself needs. */
export function frameworkTools(framework: Framework): readonly string[] {
  return TABLE[framework].tools;
}

/** What runs an entry's tests, in order. */
export function commandsOf(entry: CatalogueEntry, hasFile: HasFile): readonly TestCommand[] {
  return TABLE[entry.framework].commands(entry, hasFile);
}

/** The entry's own limits, else the framework's; what neither names is the caller's. */
export function limitsOfEntry(entry: Pick<CatalogueEntry, "framework" | "limits">): LimitOverrides {
  return { ...TABLE[entry.framework].limits, ...entry.limits };
}

/** Folders that hold the packages of these files, relative to the tree's root (`""` = the root): what Python must look in for them. */
export function importRoots(sources: readonly string[], hasFile: HasFile): string[] {
  const roots = sources.map((source) => {
    let folder = source.includes("/") ? source.slice(0, source.lastIndexOf("/")) : "";
    while (folder !== "" && hasFile(`${folder}/__init__.py`))
      folder = folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "";
    return folder;
  });
  return [...new Set(roots)].sort();
}

/** Variables of every command in an environment of Python: nothing is written beside the sources, and sets have one order. */
export function pythonEnv(roots: readonly string[]): Record<string, string> {
  const folders = roots.map((root) => (root === "" ? "/repo" : `/repo/${root}`));
  return {
    PYTHONPATH: [...new Set([...folders, "/repo", PYTHON_TARGET])].join(":"),
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONHASHSEED: "0",
    PYTHONNOUSERSITE: "1",
    PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1",
  };
}

/** Variables of every command in an environment of Go: no network, no other toolchain, compiled packages from the read-only cache. */
export function goEnv(vendored: boolean): Record<string, string> {
  return {
    PATH: `${GO_TARGET}/bin:/usr/local/bin:/usr/bin:/bin`,
    GOROOT: GO_TARGET,
    GOPATH: "/tmp/go",
    GOCACHE: "/tmp/go-build",
    GOCACHEPROG: `/usr/local/bin/node ${GO_CACHE_TARGET}/serve.cjs ${GO_CACHE_TARGET}/objects`,
    GOPROXY: "off",
    GOTOOLCHAIN: "local",
    GOFLAGS: vendored ? "-mod=vendor -trimpath" : "-mod=readonly -trimpath",
    GOTELEMETRY: "off",
    CGO_ENABLED: "0",
    GOMAXPROCS: "2",
  };
}
