/** Fail-to-pass and pass-to-pass, and the files they stand in. Pure. */
import type { StatusMap } from "../../../core/task.ts";

export interface SplitTests {
  readonly failToPass: string[];
  readonly passToPass: string[];
}

/** Tests that a mutation broke and tests that it left alone, of those that are stable, in the baseline's order. */
export function splitTests(
  baseline: StatusMap,
  statuses: StatusMap,
  unstable: readonly string[],
): SplitTests {
  const skip = new Set(unstable);
  const passing = Object.keys(baseline).filter((name) => baseline[name] === "passed" && !skip.has(name));
  return {
    failToPass: passing.filter((name) => statuses[name] !== "passed"),
    passToPass: passing.filter((name) => statuses[name] === "passed"),
  };
}

/** Test files that hold a fail-to-pass test, in the catalogue's order. */
export function filesOf(tests: readonly string[], failToPass: readonly string[]): string[] {
  return tests.filter((file) => failToPass.some((name) => name.startsWith(`${file} > `)));
}
