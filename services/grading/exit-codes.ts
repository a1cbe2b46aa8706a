/** Which exit codes agree with which reports: a report that is printed by the code under test rarely gets both right. Pure. */
import type { ReportFormat, StatusMap, TestCommand } from "../../core/task.ts";

/** Exit codes a runner gives when at least one test failed; when none failed, it gives 0. null = any but 0, or a signal. */
type FailureCodes = readonly number[] | null;

/**
 * pytest: 1 = tests failed, 2 = collection was interrupted by errors, which are reported as failures. mocha gives the number of failed tests,
 * cargo test 101. A reward is a number in a file, whatever its script's code (Harbor).
 */
const FAILURE_CODES: Readonly<Record<Exclude<ReportFormat, "reward">, FailureCodes>> = {
  tap: null,
  pytest: [1, 2],
  unittest: [1],
  "node-test": [1],
  jest: [1],
  vitest: [1],
  mocha: null,
  "go-test": [1],
  "cargo-test": [101],
  junit: null,
};

export const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh"]);

/** Between the runner and its caller stands a script, which may end with another command's code. */
const isScript = ([program = ""]: readonly string[]): boolean =>
  SHELLS.has(program.slice(program.lastIndexOf("/") + 1));

/**
 * False when someone else spoke: the code (null = a signal ended the command) says that a test failed and the report knows of none, or the
 * other way round. A script's 0 says nothing, its other codes only that something failed.
 */
export function agrees(
  { format, argv }: Pick<TestCommand, "format" | "argv">,
  exitCode: number | null,
  statuses: StatusMap,
): boolean {
  if (format === "reward") return exitCode !== null;
  const failed = Object.values(statuses).includes("failed");
  if (exitCode === 0) return !failed || isScript(argv);
  if (!failed) return false;
  if (isScript(argv)) return exitCode !== null;
  const codes = FAILURE_CODES[format];
  return codes === null || (exitCode !== null && codes.includes(exitCode));
}
