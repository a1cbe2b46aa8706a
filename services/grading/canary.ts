/**
 * A test file that must fail: it loads the sources as tests do and asserts what is false. A change that makes the test tool say "passed" whatever is
 * asserted, or prints a report of its own, says so here, too.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { FileChange, TestCommand } from "../../core/task.ts";
import type { CatalogueEntry, Framework, PreparedEnvironment } from "../environments/types.ts";
import { ASSERTIONS, CANARY_TEXTS, type Loading } from "./canary-texts.ts";
import { SHELLS } from "./exit-codes.ts";
import type { TestRunRequest, TestRunResult } from "./types.ts";
import type { Decision } from "./verdict.ts";

interface Canary {
  readonly file: FileChange;
  readonly command: TestCommand;
}

/** What a canary is made of. */
export type CanaryEntry = Pick<CatalogueEntry, "framework" | "sources" | "tests">;

/** `root`: the untouched tree. */
type Environment = Pick<PreparedEnvironment, "commands" | "root"> & { readonly entry: CanaryEntry };

/**
 * As it is, and where that differs the same with the sources' exits kept from ending it: what says nothing because a source is a program that
 * ends may say something then. None for some tests. `name`: letters and digits that the tested code cannot know beforehand.
 */
export function canariesOf(
  environment: Environment,
  name: string,
  overlay: readonly FileChange[] = [],
): readonly Canary[] {
  const textOf = treeOf(environment.root, overlay);
  const made = [false, true].flatMap((keepsExits) => canaryOf(environment, name, textOf, keepsExits) ?? []);
  const [plain, kept] = made.map(({ file }) => (file.kind === "write" ? file.content : ""));
  return plain === kept ? made.slice(0, 1) : made;
}

type TextOf = (path: string) => string | undefined;

/** Files of the tree with the overlay; undefined where there is none. */
function treeOf(root: string, overlay: readonly FileChange[]): TextOf {
  const changed = new Map(overlay.map((change) => [change.path, change]));
  return (path) => {
    const change = changed.get(path);
    if (change?.kind === "delete") return undefined;
    if (change?.kind === "write") return Buffer.from(change.content, change.encoding).toString("utf8");
    try {
      return readFileSync(join(root, path), "utf8");
    } catch {
      return undefined;
    }
  };
}

function canaryOf(
  { entry, commands }: Environment,
  name: string,
  textOf: TextOf,
  keepsExits: boolean,
): Canary | undefined {
  const [first] = commands;
  if (first === undefined) return undefined;
  const folder = `c${name}`;
  const made = (path: string, content: string, command: Partial<TestCommand>): Canary => ({
    file: { kind: "write", path, content, encoding: "utf8" },
    command: { ...first, ...command },
  });
  /** The environment's own command, told of another file. */
  const inPlaceOfTests = (path: string) => toldOf(first.argv, path, (word) => entry.tests.includes(word));
  const sources = entry.sources.filter((path) => textOf(path) !== undefined);
  const loading: Loading = { sources, keepsExits, isModule: false };
  const byNode: Loading = { ...loading, isModule: hasModules(sources, textOf) };
  const tool = toolOf(entry, first);
  switch (tool) {
    case "tape": {
      const test = basename(entry.tests[0] ?? "test.js");
      const path = `${folder}/${byNode.isModule ? test.replace(/\.\w+$/, ".mjs") : test}`;
      return made(path, CANARY_TEXTS.tape(byNode), { scope: path, argv: ["node", path] });
    }
    case "mocha":
    case "node-test": {
      const path = `${folder}/canary.test.${byNode.isModule ? "mjs" : "js"}`;
      return made(path, CANARY_TEXTS[tool](byNode), { argv: inPlaceOfTests(path) });
    }
    case "jest":
    case "vitest": {
      // Both look for tests by patterns, which a file with a test's own name meets.
      const path = `${folder}/${basename(entry.tests.find(isScript) ?? "canary.test.js")}`;
      return made(path, CANARY_TEXTS[tool](loading), { argv: inPlaceOfTests(path) });
    }
    case "pytest": {
      const path = `${folder}/test_${name}.py`;
      return made(path, CANARY_TEXTS.pytest(loading), { argv: inPlaceOfTests(path) });
    }
    case "unittest": {
      const path = `test_${folder}.py`;
      return made(path, CANARY_TEXTS.unittest(loading), {
        scope: "",
        argv: ["python3", "-m", "unittest", "-v", path],
      });
    }
    case "go-test": {
      const packages = goPackages(sources, textOf);
      if (packages.length === 0) return undefined;
      const argv = toldOf(first.argv, `./${folder}`, (word) => word === EVERY_PACKAGE);
      return made(`${folder}/${folder}_test.go`, CANARY_TEXTS["go-test"](packages), { argv });
    }
    default:
      return undefined;
  }
}

/** Sources that only `import` loads, or that it loads as the tests do. */
function hasModules(sources: readonly string[], textOf: TextOf): boolean {
  if (sources.some((path) => /\.(mjs|[cm]?tsx?)$/.test(path))) return true;
  try {
    return JSON.parse(textOf("package.json") ?? "{}")?.type === "module";
  } catch {
    return false;
  }
}

/** A command, or the script that it gives a shell, with another path behind it in the place of those it names. */
function toldOf(argv: readonly string[], path: string, isLeftOut: (word: string) => boolean): string[] {
  const [shell = "", flag, script, ...rest] = argv;
  const told = (words: readonly string[]) => [...words.filter((word) => !isLeftOut(word)), path];
  return flag === "-c" && script !== undefined && SHELLS.has(basename(shell))
    ? [shell, flag, told(script.split(" ")).join(" "), ...rest]
    : told(argv);
}

const isScript = (path: string): boolean => /\.[cm]?[jt]sx?$/.test(path);

/** Go's pattern for all packages below a folder. */
const EVERY_PACKAGE = "./...";

/** A command of one's own is one of a known tool when its report has that tool's format, or is one that several write and it names the tool. */
function toolOf(
  { framework }: CanaryEntry,
  { format, argv }: TestCommand,
): Exclude<Framework, "command"> | undefined {
  if (framework !== "command") return framework;
  switch (format) {
    case "junit":
      return REPORTERS.find((tool) => argv.some((word) => word.split(/[\s/=]/).includes(tool)));
    case "tap":
    case "cargo-test":
    case "reward":
      return undefined;
    default:
      return format;
  }
}

/** Tools that can write JUnit XML. */
const REPORTERS = ["pytest", "mocha", "jest", "vitest"] as const;

/** Those of the sources that a package at the root can import: no programs, and nothing that is internal to another folder. */
function goPackages(sources: readonly string[], textOf: TextOf): string[] {
  const module = /^module\s+"?([^\s"]+)/m.exec(textOf("go.mod") ?? "")?.[1];
  if (module === undefined) return [];
  const folders = new Set(
    sources
      .filter((path) => path.endsWith(".go") && !/^package\s+main\b/m.test(textOf(path) ?? ""))
      .map((path) => dirname(path))
      .filter((folder) => !/\/internal(\/|$)/.test(folder)),
  );
  return [...folders].sort().map((folder) => (folder === "." ? module : `${module}/${folder}`));
}

/** The same run with the canary in the place of the tests. */
export function canaryRun(request: TestRunRequest, { file, command }: Canary): TestRunRequest {
  const { environment, overlay } = request;
  return {
    ...request,
    environment: { ...environment, commands: [command] },
    overlay: [...overlay, file],
  };
}

/** Whether everything false was called so, by the report and by the exit code, and nothing else was said. */
export function toldTheTruth({
  report,
  contradictions,
}: Pick<TestRunResult, "report" | "contradictions">): boolean {
  const statuses = Object.values(report.statuses);
  return (
    report.complete &&
    contradictions.length === 0 &&
    statuses.length === ASSERTIONS &&
    statuses.every((status) => status === "failed")
  );
}

/**
 * What a canary's run says of a tree. Undefined where it says nothing: it could not be loaded, did not end, or was not reported; a source may be
 * to blame that no test loads.
 */
export function saidBy({ report, ended }: Pick<TestRunResult, "report" | "ended">): Said | undefined {
  if (!ended) return undefined;
  const statuses = Object.values(report.statuses);
  if (statuses.filter((status) => status === "failed").length >= ASSERTIONS) return "truth";
  return statuses.includes("passed") ? "lie" : undefined;
}

export type Said = "truth" | "lie";

export const TAMPERED: Decision = { outcome: "failed", rule: "harness-tampered", offending: [] };

/** Why a tree that passed was shown nothing false: the words that stand in its verdict's log. */
export const NONE = {
  noKind: "there is none for these tests",
  dishonest: "the untouched tree does not fail it",
  lost: "on the untouched tree it met a limit, twice",
  silent: "it could not be loaded, did not end, or was not reported",
} as const;
