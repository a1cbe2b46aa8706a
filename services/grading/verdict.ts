/** The one rule of grading: what a test run says about a task. Pure. */
import type { Outcome, StatusMap, Task, TestStatus, VerdictRule } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
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

/** Tests that fail in the untouched tree, too, always or at times. */
export const toleratedFailures = ({
  unstable,
  baseline,
}: Pick<PreparedEnvironment, "unstable" | "baseline">): string[] => [
  ...unstable,
  ...Object.keys(baseline).filter((name) => baseline[name] === "failed"),
];

/**
 * Passed when the run ended by itself, every fail-to-pass and every pass-to-pass test passed, and the report agrees with
 * itself and with the exit codes. Absent, skipped and expected failures are failures. Where the environment's own tests judge, so is a
 * failing test that it does not know: names are taken away from real tests by adding others before them; `tolerated` may fail. A
 * verifier's other tests may fail: the task's source names those that count, and each must pass every time its name occurs. An exact map asks
 * for its statuses and no others.
 */
export function decide(
  task: Pick<Task, "failToPass" | "passToPass" | "verifier">,
  run: Pick<TestRunResult, "report" | "contradictions" | "ended" | "outOfMemory" | "stoppedBy">,
  tolerated: readonly string[] = [],
): Decision {
  if (!run.ended) return fail(isTime(run) ? "timeout" : "killed");
  const { statuses } = run.report;
  if (Object.keys(statuses).length === 0) return fail("no-tests-parsed");
  const exact = task.verifier?.exact;
  const wrong = exact ? differsFrom(exact, statuses) : wantsMore(task, statuses, tolerated);
  if (wrong !== undefined) return wrong;
  if (run.contradictions.length > 0 || !run.report.complete) return fail("exit-code", run.contradictions);
  return { outcome: "passed", rule: "all-passed", offending: [] };
}

function wantsMore(
  { failToPass, passToPass, verifier }: Pick<Task, "failToPass" | "passToPass" | "verifier">,
  statuses: StatusMap,
  tolerated: readonly string[],
): Decision | undefined {
  // Whoever prints a name before its test does makes the test's own result its `#2`: with a verifier, whose other names may
  // fail, those are the listed name's, too.
  const again = verifier === undefined ? new Map<string, string[]>() : repeats(statuses);
  const notPassed = (names: readonly string[]) =>
    names.flatMap((name) =>
      [name, ...(again.get(name) ?? [])].filter((one) => statusOf(statuses, one) !== "passed"),
    );
  const newly = notPassed(failToPass);
  if (newly.length > 0 || failToPass.length === 0) return fail("fail-to-pass-failed", newly);
  const kept = notPassed(passToPass);
  if (kept.length > 0) return fail("pass-to-pass-failed", kept);
  if (verifier !== undefined) return undefined;
  const known = new Set([...failToPass, ...passToPass, ...tolerated]);
  const others = Object.keys(statuses).filter((name) => statuses[name] === "failed" && !known.has(name));
  return others.length > 0 ? fail("pass-to-pass-failed", others) : undefined;
}

/** Names that end in `#2`, `#3`, … by what stands before that. */
function repeats(statuses: StatusMap): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const name of Object.keys(statuses)) {
    const base = /^(.*)#(?:[2-9]|[1-9]\d+)$/s.exec(name)?.[1];
    if (base === undefined) continue;
    const list = found.get(base);
    if (list) list.push(name);
    else found.set(base, [name]);
  }
  return found;
}

function differsFrom(exact: StatusMap, statuses: StatusMap): Decision | undefined {
  const names = [...new Set([...Object.keys(exact), ...Object.keys(statuses)])];
  const odd = names.filter((name) => statusOf(exact, name) !== statusOf(statuses, name));
  return odd.length > 0 ? fail("statuses-differ", odd) : undefined;
}

/** Names are the report's: one of them may be that of a property every object has. */
const statusOf = (statuses: StatusMap, name: string): TestStatus | undefined =>
  Object.hasOwn(statuses, name) ? statuses[name] : undefined;

const isTime = (run: Pick<TestRunResult, "outOfMemory" | "stoppedBy">): boolean =>
  !run.outOfMemory && (run.stoppedBy === undefined || run.stoppedBy === "timeout" || run.stoppedBy === "cpu");
