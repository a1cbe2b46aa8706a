/**
 * A test file that must fail: it loads the sources as tests do and asserts what is false. A change that makes the test tool say "passed" whatever is
 * asserted, or prints a report of its own, says so here, too.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { FileChange, TestCommand } from "../../core/task.ts";
import type { CatalogueEntry, Framework, PreparedEnvironment } from "../environments/types.ts";
import { ASSERTIONS, CANARY_TEXTS } from "./canary-texts.ts";
import { SHELLS } from "./exit-codes.ts";
import type { TestRunRequest, TestRunResult } from "./types.ts";

interface Canary {
  readonly file: FileChange;
  readonly command: TestCommand;
}

/** What a canary is made of. */
export type CanaryEntry = Pick<CatalogueEntry, "framework" | "sources" | "tests">;

/** `root`: the untouched tree. */
type Environment = Pick<PreparedEnvironment, "commands" | "root"> & { readonly entry: CanaryEntry };

/** `name`: letters and digits that the tested code cannot know beforehand. Undefined = none for these tests. */
export function canaryOf({ entry, commands, root }: Environment, name: string): Canary | undefined {
  const [first] = commands;
  if (first === undefined) return undefined;
  const folder = `c${name}`;
  const made = (path: string, content: string, command: Partial<TestCommand>): Canary => ({
    file: { kind: "write", path, content, encoding: "utf8" },
    command: { ...first, ...command },
  });
  /** The environment's own command, told of another file. */
  const inPlaceOfTests = (path: string) => toldOf(first.argv, path, (word) => entry.tests.includes(word));
  const { sources } = entry;
  const tool = toolOf(entry, first);
  switch (tool) {
    case "tape": {
      const path = `${folder}/${basename(entry.tests[0] ?? "test.js")}`;
      return made(path, CANARY_TEXTS.tape(sources), { scope: path, argv: ["node", path] });
    }
    case "mocha":
    case "node-test": {
      const path = `${folder}/canary.test.js`;
      return made(path, CANARY_TEXTS[tool](sources), { argv: inPlaceOfTests(path) });
    }
    case "jest":
    case "vitest": {
      // Both look for tests by patterns, which a file with a test's own name meets.
      const path = `${folder}/${basename(entry.tests.find(isScript) ?? "canary.test.js")}`;
      return made(path, CANARY_TEXTS[tool](sources), { argv: inPlaceOfTests(path) });
    }
    case "pytest": {
      const path = `${folder}/test_${name}.py`;
      return made(path, CANARY_TEXTS.pytest(sources), { argv: inPlaceOfTests(path) });
    }
    case "unittest": {
      const path = `test_${folder}.py`;
      return made(path, CANARY_TEXTS.unittest(sources), {
        scope: "",
        argv: ["python3", "-m", "unittest", "-v", path],
      });
    }
    case "go-test": {
      const module = goModule(root);
      if (module === undefined) return undefined;
      const content = CANARY_TEXTS["go-test"](sources, module);
      const argv = toldOf(first.argv, `./${folder}`, (word) => word === EVERY_PACKAGE);
      return made(`${folder}/${folder}_test.go`, content, { argv });
    }
    default:
      return undefined;
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

function goModule(root: string): string | undefined {
  try {
    return /^module\s+"?([^\s"]+)/m.exec(readFileSync(join(root, "go.mod"), "utf8"))?.[1];
  } catch {
    return undefined;
  }
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

/** Whether everything false was called so, by the report and by the exit code. */
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
