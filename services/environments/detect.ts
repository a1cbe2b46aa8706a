/** Finds out how a tree is tested, and which of its files are sources and which are tests. Pure. */
import picomatch from "picomatch";
import { EnvironmentError } from "./errors.ts";
import { isAtOrBelow } from "./paths.ts";
import type { Tree } from "./tree.ts";
import type { CatalogueEntry, Framework } from "./types.ts";

export interface Detected {
  readonly framework: Framework;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  readonly omit: readonly string[];
  readonly test?: CatalogueEntry["test"];
}

export interface DetectOptions {
  readonly framework?: Framework | undefined;
  readonly test?: CatalogueEntry["test"];
  /** Globs. */
  readonly sources?: readonly string[] | undefined;
  readonly tests?: readonly string[] | undefined;
}

const textOf = (tree: Tree, path: string): string =>
  Buffer.from(tree.get(path) ?? new Uint8Array()).toString("utf8");

/** In the order they are looked for in `scripts.test`, then among the dependencies. */
const NODE_FRAMEWORKS: readonly (readonly [Framework, RegExp])[] = [
  ["vitest", /\bvitest\b/],
  ["jest", /\bjest\b/],
  ["mocha", /\bmocha\b/],
  ["node-test", /\bnode\b.*--test\b/],
  ["tape", /\btape\b|\btap\b/],
];

export interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Throws `EnvironmentError("unknown")` where it is no JSON. */
export function manifestOf(name: string, tree: Tree): Manifest {
  try {
    return JSON.parse(textOf(tree, "package.json")) as Manifest;
  } catch (cause) {
    throw new EnvironmentError("unknown", `${name}: package.json: ${(cause as Error).message}`, { cause });
  }
}

function nodeFramework({ scripts, dependencies, devDependencies }: Manifest): Framework | undefined {
  const script = scripts?.test ?? "";
  const named = Object.keys({ ...dependencies, ...devDependencies });
  return (
    NODE_FRAMEWORKS.find(([, pattern]) => pattern.test(script))?.[0] ??
    NODE_FRAMEWORKS.find(([framework]) => named.includes(framework))?.[0]
  );
}

const PYTEST_SETTINGS = ["pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini"];

function pythonFramework(tree: Tree, tests: readonly string[]): Framework {
  const configured = PYTEST_SETTINGS.some((path) => /pytest/.test(textOf(tree, path)));
  const imported = [...tree.keys()]
    .filter((path) => tests.some((test) => isAtOrBelow(path, test)))
    .some((path) => path.endsWith(".py") && /^\s*(import|from) pytest\b/m.test(textOf(tree, path)));
  return configured || imported ? "pytest" : "unittest";
}

export type TreeLanguage = "node" | "python" | "go";

interface LanguageRules {
  /** Test files. */
  readonly tests: RegExp;
  readonly sources: RegExp;
  /** Folders and files that are neither. */
  readonly others: RegExp;
}

const RULES: Record<TreeLanguage, LanguageRules> = {
  node: {
    tests:
      /^(test|tests|__tests__|spec)\/(?!fixtures?\/|helpers?\/).*\.[cm]?[jt]sx?$|\.(test|spec)\.[cm]?[jt]sx?$|^tests?\.[cm]?js$/,
    sources: /\.[cm]?[jt]sx?$/,
    others:
      /^(test|tests|__tests__|spec|examples?|bench(mark)?s?|docs?|scripts?|dist|build|umd|coverage)\/|(^|\/)(\.[^/]+|[^/]*\.config\.[cm]?[jt]s|Gruntfile\.js|gulpfile\.js|bench\w*\.js)$|\.min\.js$|\.d\.[cm]?ts$/,
  },
  python: {
    tests: /(^|\/)(test_[^/]+|[^/]+_test)\.py$/,
    sources: /\.py$/,
    others:
      /^(tests?|docs?|examples?|benchmarks?|scripts?|tools)\/|(^|\/)(setup|conftest|noxfile|tasks)\.py$|(^|\/)tests?\//,
  },
  go: {
    tests: /_test\.go$|(^|\/)testdata\//,
    sources: /\.go$/,
    others: /^(vendor|examples?|docs?)\/|(^|\/)testdata\//,
  },
};

/** Second copies of sources, which no environment may hold. */
const BUILT = /^(dist|build|umd)\/|\.min\.[a-z]+$|\.map$/;

export const isBuilt = (path: string): boolean => BUILT.test(path);

/** What a file of a tree in a language is to its environment, by its path alone. */
export function partOf(language: TreeLanguage, path: string): "tests" | "sources" | "others" {
  const { tests, sources, others } = RULES[language];
  if (tests.test(path)) return "tests";
  return sources.test(path) && !others.test(path) ? "sources" : "others";
}

function languageOfTree(name: string, tree: Tree): TreeLanguage {
  if (tree.has("go.mod")) return "go";
  if (tree.has("package.json")) return "node";
  if ([...tree.keys()].some((path) => path.endsWith(".py"))) return "python";
  throw new EnvironmentError(
    "unknown",
    `${name}: expected a go.mod, a package.json or Python files in its root, found none; say how it is tested by --test and --format`,
  );
}

/** Files below a folder of tests are named by the folder: what helps a test is as protected as the test. */
function testPaths(language: TreeLanguage, files: readonly string[], found: readonly string[]): string[] {
  if (language !== "python") return [...found];
  const folders = ["tests", "test"].filter((folder) => files.some((path) => path.startsWith(`${folder}/`)));
  return folders.length > 0 ? folders : [...found];
}

/**
 * Throws `EnvironmentError("unknown")`, naming the option that would help, when there is no framework, no source or no test to be found. `name` is
 * for messages.
 */
export function detect(name: string, tree: Tree, options: DetectOptions): Detected {
  const files = [...tree.keys()].filter((path) => !path.startsWith(".git/"));
  const byGlob = (globs: readonly string[]) => {
    const matches = picomatch([...globs]);
    return files.filter((path) => matches(path));
  };
  const isCommand = options.test !== undefined;
  const language = isCommand && options.sources !== undefined ? undefined : languageOfTree(name, tree);
  const rules = language && RULES[language];
  const tests =
    options.tests !== undefined
      ? byGlob(options.tests)
      : rules === undefined || language === undefined
        ? []
        : testPaths(
            language,
            files,
            files.filter((path) => rules.tests.test(path)),
          );
  if (tests.length === 0)
    throw new EnvironmentError(
      "unknown",
      options.tests === undefined
        ? `${name}: --tests: expected files of tests, found no test files under the usual names; name them by --tests <glob>: without tests nothing can judge a task`
        : `${name}: --tests: expected globs that match files of tests, found no test files that match ${options.tests.join(" ")}`,
    );
  const isTest = (path: string) => tests.some((test) => isAtOrBelow(path, test));
  const sources = (
    options.sources !== undefined
      ? byGlob(options.sources)
      : files.filter(
          (path) => rules?.sources.test(path) && !rules.others.test(path) && !rules.tests.test(path),
        )
  ).filter((path) => !isTest(path));
  if (sources.length === 0)
    throw new EnvironmentError("unknown", `${name}: found no sources; name them by --sources <glob>`);
  const framework = isCommand ? "command" : (options.framework ?? frameworkOf(name, tree, language!, tests));
  const omit = files.filter((path) => BUILT.test(path) && !sources.includes(path) && !isTest(path));
  return { framework, sources, tests, omit, ...(isCommand && { test: options.test }) };
}

function frameworkOf(name: string, tree: Tree, language: TreeLanguage, tests: readonly string[]): Framework {
  if (language === "go") return "go-test";
  if (language === "python") return pythonFramework(tree, tests);
  const found = nodeFramework(manifestOf(name, tree));
  if (found !== undefined) return found;
  throw new EnvironmentError(
    "unknown",
    `${name}: neither package.json's scripts.test nor its dependencies name a framework; name one by --framework, or a command by --test and --format`,
  );
}

/** Names of packages that files of Node load by `require` or `import` with a literal. */
export function loadedPackages(tree: Tree, isCounted: (path: string) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of tree.keys()) {
    if (!isCounted(path) || !/\.[cm]?[jt]sx?$/.test(path)) continue;
    const matches = textOf(tree, path).matchAll(/(?:require\(|from|import\(?)\s*["']([^."'/][^"']*)["']/g);
    for (const [, name] of matches)
      found.add(
        name!
          .split("/")
          .slice(0, name!.startsWith("@") ? 2 : 1)
          .join("/"),
      );
  }
  return found;
}
