/** Reads the JSON that jest prints, and vitest in the same form. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { recordsOf, repoPath, stringOf } from "./text.ts";

const STATUSES: Readonly<Record<string, TestStatus>> = {
  passed: "passed",
  failed: "failed",
  todo: "xfail",
  skipped: "skipped",
  pending: "skipped",
  disabled: "skipped",
};

/**
 * Names are `<file> > <describe> > … > <test>`. A file that failed without a failed test (it does not load, or holds no test) is one failed test.
 * Complete when each total is the number of such results, what it says of files and of the whole fits them, and the run was not interrupted.
 */
export function readJestJson(
  json: Readonly<Record<string, unknown>>,
  scope: string,
  workdir: string,
): TestReport {
  const results = new Results(scope);
  const counts: Record<TestStatus, number> = { passed: 0, failed: 0, skipped: 0, xfail: 0 };
  let failedFiles = 0;
  let known = true;
  for (const file of recordsOf(json.testResults)) {
    const path = repoPath(stringOf(file.name), workdir);
    const tests = recordsOf(file.assertionResults);
    for (const test of tests) {
      const word = stringOf(test.status);
      const status = Object.hasOwn(STATUSES, word) ? STATUSES[word] : undefined;
      if (status === undefined) known = false;
      const titles = Array.isArray(test.ancestorTitles) ? test.ancestorTitles.map(stringOf) : [];
      results.add([path, ...titles, stringOf(test.title)].join(" > "), status ?? "failed");
      counts[status ?? "failed"]++;
    }
    if (file.status !== "failed") continue;
    failedFiles++;
    if (!tests.some(({ status }) => status === "failed")) results.add(path, "failed");
  }
  const failed = counts.failed > 0 || failedFiles > 0;
  const none = (total: unknown): boolean => total === undefined || total === 0;
  const complete =
    known &&
    json.wasInterrupted !== true &&
    json.numPassedTests === counts.passed &&
    json.numFailedTests === counts.failed &&
    json.numPendingTests === counts.skipped &&
    (json.numTodoTests ?? 0) === counts.xfail &&
    // vitest counts suites within files, too.
    (failed || (none(json.numFailedTestSuites) && none(json.numRuntimeErrorTestSuites))) &&
    (json.success === undefined || json.success === !failed) &&
    (json.numTotalTests === undefined ||
      json.numTotalTests === Object.values(counts).reduce((sum, count) => sum + count, 0));
  return results.report(complete);
}
