/** Reads TAP 13 and 14: flat, tests named by comment lines, as tape prints it, or with subtests (`tap-tree.ts`). Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";

/** What tape prints after its last result is a summary, not a test's name. */
const SUMMARY = /^(?:tests|pass|fail|todo|skip)\s+\d+$/;

/**
 * Statuses by `<test file> > <test name> > <assertion name>#<ordinal>` (without the file where it is ""): the ordinal counts equal names within a test,
 * so that a result added or lost elsewhere renames nothing. The report is complete when exactly one plan was printed, results
 * are numbered from 1 without a gap, there are as many as planned, and the summary counts no failure that is not there; a line that only looks
 * like a result breaks that.
 */
export function parseTap(text: string, file: string): TestReport {
  const statuses = new Map<string, TestStatus>();
  const ordinals = new Map<string, number>();
  let test = "";
  let results = 0;
  let inOrder = true;
  let bailedOut = false;
  let contradicted = false;
  const plans: number[] = [];
  for (const line of text.split(/\r?\n/)) {
    const plan = /^1\.\.(\d+)\s*(?:#.*)?$/.exec(line);
    const result = /^(not )?ok\b(?: +(\d+))?(?: +(.*))?$/.exec(line);
    if (plan) plans.push(Number(plan[1]));
    else if (/^Bail out!/i.test(line)) bailedOut = true;
    else if (result) {
      const [, not, number, rest = ""] = result;
      results++;
      if (number !== undefined && Number(number) !== results) inOrder = false;
      const { name, directive } = splitDirective(rest);
      const key = file === "" ? `${test} > ${name}` : `${file} > ${test} > ${name}`;
      const ordinal = (ordinals.get(key) ?? 0) + 1;
      ordinals.set(key, ordinal);
      statuses.set(`${key}#${ordinal}`, statusOf(not === undefined, directive));
    } else {
      const comment = /^# ?(.*)$/.exec(line)?.[1]?.trim();
      if (comment === undefined) continue;
      if (plans.length === 0 && !SUMMARY.test(comment)) test = comment;
      if (plans.length > 0 && countsFailures(comment)) contradicted = true;
    }
  }
  const failed = [...statuses.values()].some((status) => status === "failed" || status === "xfail");
  const counted = plans.length === 1 && plans[0] === results;
  const complete = !bailedOut && inOrder && counted && (failed || !contradicted);
  return { statuses: Object.fromEntries(statuses), complete };
}

/** `fail  1` as tape counts behind its plan, `failed 1 of 2 tests` as tap does. */
export const countsFailures = (comment: string): boolean =>
  /^(?:fail\s+[1-9]\d*$|failed [1-9]\d* of \d+ tests?\b)/.test(comment);

/** A result's name, and what follows it after `#`. */
export function splitDirective(rest: string): { name: string; directive: "skip" | "todo" | undefined } {
  const found = /(?:^|\s)#\s*(skip|todo)\b/i.exec(rest);
  const name = (found ? rest.slice(0, found.index) : rest).replace(/^- /, "").trim();
  return { name, directive: found?.[1]?.toLowerCase() as "skip" | "todo" | undefined };
}

export function statusOf(ok: boolean, directive: "skip" | "todo" | undefined): TestStatus {
  if (directive === "skip") return "skipped";
  if (directive === "todo") return "xfail";
  return ok ? "passed" : "failed";
}

/**
 * One report of several commands' reports. Where two name the same test, a failure stays, and of other statuses the one that is no pass. Complete when
 * there is at least one and each is.
 */
export function mergeReports(reports: readonly TestReport[]): TestReport {
  const statuses = new Map<string, TestStatus>();
  for (const report of reports)
    for (const [name, status] of Object.entries(report.statuses)) {
      const before = statuses.get(name);
      if (before === undefined || before === "passed" || status === "failed") statuses.set(name, status);
    }
  // A name may be `__proto__`: assigned, it would be lost.
  return {
    statuses: Object.fromEntries(statuses),
    complete: reports.length > 0 && reports.every((report) => report.complete),
  };
}
