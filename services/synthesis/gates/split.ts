/** Fail-to-pass and pass-to-pass, the files they stand in, and what a gold breaks. Pure. */
import type { StatusMap } from "../../../core/task.ts";

export interface SplitTests {
  readonly failToPass: string[];
  readonly passToPass: string[];
}

const passes = (statuses: StatusMap, name: string): boolean =>
  Object.hasOwn(statuses, name) && statuses[name] === "passed";

/** By the tests that pass once the task is solved and are stable, in that report's order: those that the base tree fails, and the others. */
export function splitTests(solved: StatusMap, base: StatusMap, unstable: readonly string[]): SplitTests {
  const skip = new Set(unstable);
  const passing = Object.keys(solved).filter((name) => solved[name] === "passed" && !skip.has(name));
  return {
    failToPass: passing.filter((name) => base[name] !== "passed"),
    passToPass: passing.filter((name) => base[name] === "passed"),
  };
}

/** Test files that hold a fail-to-pass test, in the catalogue's order. */
export function filesOf(tests: readonly string[], failToPass: readonly string[]): string[] {
  return tests.filter((file) => failToPass.some((name) => name.startsWith(`${file} > `)));
}

export interface Runs {
  /** Of the untouched environment; empty where the solved tree is of another version than its tests. */
  readonly baseline: StatusMap;
  readonly unstable: readonly string[];
  readonly base: StatusMap;
  readonly solved: StatusMap;
}

/**
 * Tests that pass on the base tree or in the environment and not with gold, and tests that gold itself brings and fails. A test that the
 * environment fails untouched is nobody's fault.
 */
export function brokenBy({ baseline, unstable, base, solved }: Runs): string[] {
  const skip = new Set(unstable);
  const names = new Set([...Object.keys(base), ...Object.keys(solved)]);
  return [...names].filter((name) => {
    if (skip.has(name) || passes(solved, name)) return false;
    if (passes(base, name) || passes(baseline, name)) return true;
    return !Object.hasOwn(baseline, name) && solved[name] === "failed";
  });
}
