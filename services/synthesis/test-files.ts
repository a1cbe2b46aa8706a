/**
 * The files that hold given tests. Reports name a test's file in many ways, and some do not at all: what cannot be told apart is
 * hidden whole, for a hidden test that an agent can read is none.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PreparedEnvironment } from "../environments/types.ts";

type Tested = Pick<PreparedEnvironment, "root"> & {
  readonly entry: Pick<PreparedEnvironment["entry"], "tests">;
};

/** The environment's test files, folders opened, in the catalogue's order. */
export function testFiles({ root, entry }: Tested): string[] {
  return entry.tests.flatMap((path) => {
    if (!statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory()) return [path];
    return readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
      .filter((below) => statSync(join(root, path, below)).isFile())
      .sort()
      .map((below) => `${path}/${below}`);
  });
}

/** `test.test_a` and `test_a` for `test/test_a.py`: unittest names a module from where it began to look. */
function modules(file: string): string[] {
  const parts = file.replace(/\.py$/, "").split("/");
  return parts.map((_, i) => parts.slice(i).join("."));
}

function holds(root: string, file: string, name: string): boolean {
  if (name.startsWith(`${file} > `)) return true;
  if (file.endsWith(".py"))
    return modules(file).some((module) =>
      [`${module}.`, `${module} > `].some((start) => name.startsWith(start) || name.includes(`(${start}`)),
    );
  const [, test] = / > (Test\w*)/.exec(name) ?? [];
  return (
    test !== undefined &&
    file.endsWith("_test.go") &&
    readFileSync(join(root, file), "utf8").includes(`func ${test}(`)
  );
}

/** Test files that hold one of the tests; all of them as soon as one test's file is not known. */
export function filesHolding(environment: Tested, names: readonly string[]): string[] {
  const files = testFiles(environment);
  const found = names.map((name) => files.filter((file) => holds(environment.root, file, name)));
  const wanted = new Set(found.some((each) => each.length === 0) ? files : found.flat());
  return files.filter((file) => wanted.has(file));
}
