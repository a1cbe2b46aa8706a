/**
 * Checks of a type: what a refactoring, a migration or a speed-up must show beside its tests. A check is files and one command of the
 * task's verifier, which prints TAP like any test, so that grading, export and regrading know nothing of types.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FileChange, TestCommand, TypeCheck } from "../../../core/task.ts";
import { languageOfEntry } from "../../environments/index.ts";
import type { PreparedEnvironment } from "../../environments/types.ts";
import { testMounts } from "../../grading/index.ts";
import { baseCode } from "../base-tree.ts";
import { textsOf, writeText } from "../changes.ts";
import type { Candidate } from "../types.ts";
import { codeFiles } from "./files.ts";
import { CHECK_SCOPE, importNames, speedNames, structureName } from "./names.ts";

/** Outside the tree: what is judged does not see it, and it is no part of a change. */
const FOLDER = "/tmp/check";

/** Pairs after which the speed-up may be decided, and the confidence of each look: together 95 %. */
const LOOKS = [7, 12, 20] as const;
const CONFIDENCE = 1 - 0.05 / LOOKS.length;

/** What a verifier may carry of a base tree. */
const MAX_BASE_BYTES = 1024 * 1024;

export interface CheckParts {
  readonly files: readonly FileChange[];
  readonly command: TestCommand;
}

/** `none`: why the check cannot run in the environment. */
export function checkOf(
  environment: PreparedEnvironment,
  candidate: Candidate,
  check: TypeCheck,
): CheckParts | { readonly none: string } {
  const language = languageOfEntry(environment.entry);
  if (environment.image !== null || language === "other")
    return {
      none: `a check of type ${check.type} needs an environment of Node, Python or Go without an image: ${environment.key} is none`,
    };
  if (check.type === "performance") return speed(environment, candidate, check);
  const spec = check.type === "refactor" ? structureSpec(check) : importsSpec(environment, candidate, check);
  if (language === "python") return parts("python3", "python.py", [], spec);
  const program = check.type === "refactor" ? "structure.cjs" : "imports.cjs";
  const others = [
    "definitions.cjs",
    "tap.cjs",
    "tokens.cjs",
    ...(check.type === "refactor" ? ["imports.cjs"] : []),
  ];
  return parts("node", program, others, spec);
}

function parts(interpreter: string, program: string, others: readonly string[], spec: unknown): CheckParts {
  const scripts = [program, ...others].map((name) => writeText(`${FOLDER}/${name}`, boxScript(name)));
  return {
    files: [...scripts, writeText(`${FOLDER}/check.json`, `${JSON.stringify(spec)}\n`)],
    command: {
      scope: CHECK_SCOPE,
      argv: [interpreter, `${FOLDER}/${program}`],
      format: "tap",
      reportFile: null,
    },
  };
}

const boxScript = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`./box/${name}`, import.meta.url)), "utf8");

const structureSpec = ({ structure }: Extract<TypeCheck, { type: "refactor" }>) => ({
  assertions: structure.map((assertion) => ({ name: structureName(assertion), ...assertion })),
});

/** Code of the snapshot that is neither a source nor changed is not looked at: scripts and examples may import what they like. */
function importsSpec(
  environment: PreparedEnvironment,
  { base, gold, tests = [] }: Candidate,
  { absent, present }: Extract<TypeCheck, { type: "migration" }>,
) {
  const own = new Set([...environment.entry.sources, ...[...base, ...gold].map(({ path }) => path)]);
  const others = codeFiles(environment).filter((path) => !own.has(path));
  const hidden = tests.map(({ path }) => path);
  const named = (modules: readonly string[], name: (module: string) => string) =>
    modules.map((module) => ({ name: name(module), module }));
  return {
    absent: named(absent, importNames.absent),
    present: named(present, importNames.present),
    known: loadingTexts(environment, base),
    skip: [...new Set([...testMounts(environment.entry), ...others, ...hidden])].sort(),
  };
}

/** May hold an import whose module stands nowhere. */
const LOADS =
  /\brequire\b(?!\s*\(\s*["'][^"']*["']\s*\))|\bimport\s*\(|\b(?:createRequire|_load|mainModule|getBuiltinModule|eval|exec|Function|importlib|import_module|find_spec|spec_from_file_location|load_module|exec_module|run_module|run_path)\b|__import__|__builtins__|\bmodule\s*\[|[."'\x60]\s*require\b|\\/;

/** Of the base tree: what it loads in such ways is no way out of a migration. */
function loadingTexts(environment: PreparedEnvironment, base: Candidate["base"]): string[] {
  const python = languageOfEntry(environment.entry) === "python";
  return [...baseCode(environment, base)]
    .filter(([path, text]) => path.endsWith(".py") === python && !path.endsWith(".go") && LOADS.test(text))
    .map(([, text]) => text);
}

const SPEED_SCRIPTS = ["interval.cjs", "tap.cjs", "tree.cjs", "workload.cjs"];

function speed(
  environment: PreparedEnvironment,
  { base }: Candidate,
  { workload, minSpeedup }: Extract<TypeCheck, { type: "performance" }>,
): CheckParts | { readonly none: string } {
  if (workload.kind !== "write")
    return { none: "check.workload: expected a script, found a deletion or a link" };
  if (!/\.(?:[cm]?[jt]s|py|go)$/.test(workload.path))
    return { none: `check.workload: ${workload.path} is no script of Node, Python or Go` };
  const texts = baseCode(environment, base);
  const bytes = [...texts.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_BASE_BYTES)
    return { none: `the base tree's code has ${bytes} bytes: a check carries at most ${MAX_BASE_BYTES}` };
  const inTree = workload.path.startsWith("/") ? [] : textsOf([workload]);
  const files = [...texts, ...inTree].map(([path, text]) => ({
    path,
    content: Buffer.from(text).toString("base64"),
  }));
  const spec = {
    workload: workload.path,
    minSpeedup,
    looks: LOOKS,
    confidence: CONFIDENCE,
    names: speedNames(minSpeedup),
    base: { files, tests: testMounts(environment.entry) },
  };
  const { files: scripts, command } = parts("node", "performance.cjs", SPEED_SCRIPTS, spec);
  return { files: [...scripts, workload], command };
}
