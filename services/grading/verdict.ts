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
  run: Pick<TestRunResult, "report" | "contradictions" | "ended" | "outOfMemory" | "stoppedBy">,
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
  if (run.contradictions.length > 0 || !run.report.complete) return fail("exit-code", run.contradictions);
  return { outcome: "passed", rule: "all-passed", offending: [] };
}

const isTime = (run: Pick<TestRunResult, "outOfMemory" | "stoppedBy">): boolean =>
  !run.outOfMemory && (run.stoppedBy === undefined || run.stoppedBy === "timeout" || run.stoppedBy === "cpu");
