/** Reads what vitest reports: its json, or the text of its verbose reporter. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { readJestJson } from "./jest-json.ts";
import { Results } from "./results.ts";
import { jsonIn, linesOf } from "./text.ts";
import { agree, totalsOf } from "./totals.ts";
import type { ReportInput } from "./types.ts";

export function parseVitest({ text, stderr, scope, workdir }: ReportInput): TestReport {
  const { json, only } = jsonIn(text, "testResults") ?? {};
  if (json !== undefined && Array.isArray(json.testResults)) {
    const { statuses, complete } = readJestJson(json, scope, workdir);
    return { statuses, complete: complete && only === true };
  }
  return readText(linesOf(text), linesOf(stderr), scope);
}

const MARKS: Readonly<Record<string, TestStatus>> = {
  "✓": "passed",
  "√": "passed",
  "×": "failed",
  "↓": "skipped",
  "□": "xfail",
};

/** A result is ` <mark> <file> > <suite> > <test> 5ms`; files that failed as a whole are named among the details, which may be on stderr. */
function readText(lines: readonly string[], errorLines: readonly string[], scope: string): TestReport {
  const results = new Results(scope);
  const counts: Record<TestStatus, number> = { passed: 0, failed: 0, skipped: 0, xfail: 0 };
  let summaries = 0;
  let complete = true;
  let failedFiles = 0;
  for (const line of lines) {
    const mark = line[0] === " " && line[2] === " " ? MARKS[line[1] ?? ""] : undefined;
    if (mark !== undefined && line.includes(" > ")) {
      results.add(withoutTime(line.slice(3)), mark);
      counts[mark]++;
    } else if (/^ +Tests {2}/.test(line)) {
      summaries++;
      complete = complete && agree(totalsIn(line), counts);
    } else if (/^ Test Files {2}/.test(line)) failedFiles = totalsIn(line)?.get("failed") ?? 0;
    // Errors outside tests, as those of promises that nobody awaited.
    else if (/^ +Errors {2}/.test(line)) complete = false;
  }
  const names = [...new Set([...lines, ...errorLines].map(failedIn).filter((name) => name !== undefined))];
  // Without the verbose reporter only failures have names.
  const verbose = counts.passed + counts.failed > 0;
  for (const { name, isFile } of distinct(names)) if (isFile || !verbose) results.add(name, "failed");
  const failed = counts.failed > 0 || names.length > 0;
  return results.report(complete && summaries === 1 && (failed || failedFiles === 0));
}

interface Failed {
  readonly name: string;
  readonly isFile: boolean;
}

/** ` FAIL  a.test.ts [ a.test.ts ]` or ` FAIL  a.test.ts > suite > test` */
function failedIn(line: string): Failed | undefined {
  if (!line.startsWith(" FAIL  ")) return undefined;
  const rest = line.slice(" FAIL  ".length);
  const at = rest.lastIndexOf(" [ ");
  const isFile = at > 0 && rest.endsWith(" ]");
  return { name: isFile ? rest.slice(0, at) : rest, isFile };
}

const distinct = (failed: readonly Failed[]): Failed[] => [
  ...new Map(failed.map((one) => [one.name, one])).values(),
];

const withoutTime = (text: string): string => /^(.*) \d[\d.]*m?s$/.exec(text)?.[1] ?? text;

/** `      Tests  1 failed | 7 passed | 1 expected fail | 1 skipped | 1 todo (11)` */
function totalsIn(line: string): ReadonlyMap<string, number> | undefined {
  const [, list = "", total] = /^ +(?:Tests|Test Files) {2}(.*) \((\d+)\)$/.exec(line.trimEnd()) ?? [];
  return totalsOf([...list.split(" | "), `${total} total`]);
}
