/** The one rule of grading: what a test run says about a task. Pure. */
import type { Outcome, Task, VerdictRule } from "../../core/task.ts";
import type { TestRunResult } from "./types.ts";

export interface Decision {
  readonly outcome: Outcome;
  readonly rule: VerdictRule;
  readonly offending: readonly string[];
}

/** Names kept for people. */
const MAX_OFFENDING = 20;

const fail = (rule: VerdictRule, offending: readonly string[] = []): Decision => ({
  outcome: "failed",
  rule,
  offending: offending.slice(0, MAX_OFFENDING),
});

/**
 * Passed when the run ended by itself, every fail-to-pass and every pass-to-pass test passed, and the report agrees with
 * itself and with the exit codes. Absent, skipped and expected failures are failures, and so is a failing test that the
 * environment does not know: names are taken away from real tests by adding others before them. `unstable` may fail.
 */
export function decide(
  task: Pick<Task, "failToPass" | "passToPass">,
  run: Pick<TestRunResult, "report" | "exitCodes" | "ended" | "outOfMemory" | "stoppedBy">,
  unstable: readonly string[] = [],
): Decision {
  if (!run.ended) return fail(isTime(run) ? "timeout" : "killed");
  const { statuses } = run.report;
  if (Object.keys(statuses).length === 0) return fail("no-tests-parsed");
  const notPassed = (names: readonly string[]) =>
    names.filter((name) => !Object.hasOwn(statuses, name) || statuses[name] !== "passed");
  const newly = notPassed(task.failToPass);
  if (newly.length > 0 || task.failToPass.length === 0) return fail("fail-to-pass-failed", newly);
  const kept = notPassed(task.passToPass);
  if (kept.length > 0) return fail("pass-to-pass-failed", kept);
  const wanted = new Set([...task.failToPass, ...task.passToPass, ...unstable]);
  const others = Object.keys(statuses).filter((name) => statuses[name] === "failed" && !wanted.has(name));
  if (others.length > 0) return fail("pass-to-pass-failed", others);
  const odd = filesThatDisagree(run);
  if (odd.length > 0 || !run.report.complete) return fail("exit-code", odd);
  return { outcome: "passed", rule: "all-passed", offending: [] };
}

const isTime = (run: Pick<TestRunResult, "outOfMemory" | "stoppedBy">): boolean =>
  !run.outOfMemory && (run.stoppedBy === undefined || run.stoppedBy === "timeout" || run.stoppedBy === "cpu");

/** A file exits with 0 exactly when none of its tests failed; anything else means that someone else spoke. */
function filesThatDisagree(run: Pick<TestRunResult, "report" | "exitCodes">): string[] {
  const failed = new Set(
    Object.entries(run.report.statuses)
      .filter(([, status]) => status === "failed")
      .map(([name]) => name.slice(0, name.indexOf(" > "))),
  );
  return Object.entries(run.exitCodes)
    .filter(([file, code]) => (code === 0) === failed.has(file))
    .map(([file]) => file);
}
