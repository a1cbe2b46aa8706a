/** Reads the JSON that jest prints, and vitest in the same form. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { recordsOf, repoPath, stringOf } from "./text.ts";

const STATUSES: Readonly<Record<string, TestStatus>> = {
  passed: "passed",
  failed: "failed",
  todo: "xfail",
};

/**
 * Names are `<file> > <describe> > … > <test>`. A file that failed without a failed test (it does not load, or holds no test) is one failed test.
 * Complete when each total is the number of such results, and the run was not interrupted.
 */
export function readJestJson(
  json: Readonly<Record<string, unknown>>,
  scope: string,
  workdir: string,
): TestReport {
  const results = new Results(scope);
  const counts = { passed: 0, failed: 0, todo: 0, other: 0 };
  for (const file of recordsOf(json.testResults)) {
    const path = repoPath(stringOf(file.name), workdir);
    const tests = recordsOf(file.assertionResults);
    for (const test of tests) {
      const status = stringOf(test.status);
      const titles = Array.isArray(test.ancestorTitles) ? test.ancestorTitles.map(stringOf) : [];
      results.add([path, ...titles, stringOf(test.title)].join(" > "), STATUSES[status] ?? "skipped");
      if (status === "passed" || status === "failed" || status === "todo") counts[status]++;
      else counts.other++;
    }
    if (file.status === "failed" && !tests.some(({ status }) => status === "failed"))
      results.add(path, "failed");
  }
  const complete =
    json.wasInterrupted !== true &&
    json.numPassedTests === counts.passed &&
    json.numFailedTests === counts.failed &&
    json.numPendingTests === counts.other &&
    (json.numTodoTests ?? 0) === counts.todo;
  return results.report(complete);
}
