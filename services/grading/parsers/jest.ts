/** Reads what jest reports: `--json`, or the text of `--verbose`. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { readJestJson } from "./jest-json.ts";
import { Results } from "./results.ts";
import { indentOf, jsonIn, linesOf, repoPath } from "./text.ts";
import { agree, totalsOf } from "./totals.ts";
import type { ReportInput } from "./types.ts";

/** The text is on stderr; what tests print goes to either. */
export function parseJest({ text, stderr, scope, workdir }: ReportInput): TestReport {
  const { json, only } = jsonIn(text, "testResults") ?? {};
  if (json !== undefined && Array.isArray(json.testResults)) {
    const { statuses, complete } = readJestJson(json, scope, workdir);
    return { statuses, complete: complete && only === true };
  }
  return readVerbose(linesOf(stderr.includes("Tests:") ? stderr : text), scope, workdir);
}

const MARKS: readonly (readonly [mark: string, status: TestStatus])[] = [
  ["✓ ", "passed"],
  ["√ ", "passed"],
  ["✕ ", "failed"],
  ["× ", "failed"],
  ["○ skipped ", "skipped"],
  ["✎ todo ", "xfail"],
];

/** Under a file's `PASS` or `FAIL` line its tree, two spaces a level, up to the next empty line. */
function readVerbose(lines: readonly string[], scope: string, workdir: string): TestReport {
  const results = new Results(scope);
  const counts: Record<TestStatus, number> = { passed: 0, failed: 0, skipped: 0, xfail: 0 };
  const path: string[] = [];
  let inTree = false;
  let file: string | undefined;
  let summaries = 0;
  let complete = true;
  let failedFiles = 0;
  for (const line of lines) {
    const header = /^ ?(?:PASS|FAIL) +(\S.*)$/.exec(line)?.[1];
    if (header !== undefined) {
      file = repoPath(withoutTime(header), workdir);
      path.splice(0, path.length, file);
      inTree = true;
    } else if (line.trim() === "● Test suite failed to run" && file !== undefined && summaries === 0) {
      results.add(file, "failed");
      failedFiles++;
      // The same file is named again where many fail.
      file = undefined;
      inTree = false;
    } else if (line.startsWith("Test Suites: ")) {
      const failed = totalsIn(line)?.get("failed") ?? 0;
      if (failed > 0 && failedFiles === 0 && counts.failed === 0) complete = false;
    } else if (line.startsWith("Tests: ")) {
      summaries++;
      complete = complete && agree(totalsIn(line), counts);
    } else if (inTree) {
      const indent = indentOf(line);
      const content = line.slice(indent);
      const depth = indent / 2;
      // What others print between is not the tree's.
      if (indent === 0 && content !== "") continue;
      if (content === "" || !Number.isInteger(depth) || depth < 1 || depth > path.length) {
        inTree = false;
        continue;
      }
      const [mark, status] = MARKS.find(([prefix]) => content.startsWith(prefix)) ?? [];
      if (mark === undefined || status === undefined) path.splice(depth, path.length, content);
      else {
        counts[status]++;
        results.add([...path.slice(0, depth), withoutTime(content.slice(mark.length))].join(" > "), status);
      }
    }
  }
  return results.report(complete && summaries === 1);
}

/** ` (5 ms)`, ` (1.2 s)` */
const withoutTime = (text: string): string => /^(.*) \(\d[\d.]* m?s\)$/.exec(text)?.[1] ?? text;

/** `Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total` */
const totalsIn = (line: string): ReadonlyMap<string, number> | undefined =>
  totalsOf(
    line
      .slice(line.indexOf(":") + 1)
      .split(",")
      .map((part) => part.trim()),
  );
