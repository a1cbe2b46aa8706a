/** Reads what mocha reports: its json, or the text of its spec reporter. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { indentOf, isRecord, jsonIn, linesOf, recordsOf, stringOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/** Names are mocha's full titles: suites and test joined by a space. A hook that failed is a failed test by its own title. */
export function parseMocha({ text, scope }: ReportInput): TestReport {
  const { json, only } = jsonIn(text, "failures") ?? {};
  if (json !== undefined && isRecord(json.stats) && Array.isArray(json.tests)) {
    const { statuses, complete } = readJson(json, json.stats, scope);
    return { statuses, complete: complete && only === true };
  }
  return readSpec(linesOf(text), scope);
}

/**
 * Complete when the statistics count as many passes, pending tests and failures as are listed, and no test has an error that is not
 * among the failures.
 */
function readJson(
  json: Readonly<Record<string, unknown>>,
  stats: Readonly<Record<string, unknown>>,
  scope: string,
): TestReport {
  const results = new Results(scope);
  const title = (test: Readonly<Record<string, unknown>>): string => stringOf(test.fullTitle);
  const counts = { passes: 0, pending: 0, failures: 0 };
  let complete = json.passes === undefined || recordsOf(json.passes).length === stats.passes;
  const pending = countOf(recordsOf(json.pending).map(title));
  const failures = countOf(recordsOf(json.failures).map(title));
  for (const test of recordsOf(json.tests)) {
    const name = title(test);
    const kind = take(pending, name, !hasError(test))
      ? "pending"
      : take(failures, name, hasError(test))
        ? "failures"
        : "passes";
    if (kind === "passes" && hasError(test)) complete = false;
    counts[kind]++;
    results.add(name, kind === "passes" ? "passed" : kind === "pending" ? "skipped" : "failed");
  }
  for (const [name, times] of failures)
    for (let time = 0; time < times; time++) {
      counts.failures++;
      results.add(name, "failed");
    }
  return results.report(
    complete &&
      stats.passes === counts.passes &&
      stats.pending === counts.pending &&
      stats.failures === counts.failures &&
      (stats.tests === undefined || stats.tests === recordsOf(json.tests).length),
  );
}

const hasError = ({ err }: Readonly<Record<string, unknown>>): boolean =>
  isRecord(err) && Object.keys(err).length > 0;

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function take(counts: Map<string, number>, name: string, wanted: boolean): boolean {
  const left = counts.get(name) ?? 0;
  if (!wanted || left === 0) return false;
  counts.set(name, left - 1);
  return true;
}

const MARK = /^(✔|✓|√|-|\d+\)) (.*)$/;

/** Suites and tests by their indentation; the report ends with the last `<n> passing` line and what follows it. */
function readSpec(lines: readonly string[], scope: string): TestReport {
  const end = lines.findLastIndex((line) => /^ {2}\d+ passing \(/.test(line));
  const results = new Results(scope);
  const counts: Record<string, number> = { passing: 0, pending: 0, failing: 0 };
  const path: string[] = [];
  for (const line of end < 0 ? lines : lines.slice(0, end)) {
    const indent = indentOf(line);
    const depth = indent / 2 - 1;
    const content = line.slice(indent);
    if (content === "" || !Number.isInteger(depth) || depth < 0) continue;
    const [, mark, title] = MARK.exec(content) ?? [];
    if (mark === undefined || title === undefined) {
      if (depth <= path.length) path.splice(depth, path.length, content);
      continue;
    }
    // Tests of the outermost suite are as deep as its suites' titles are.
    const suites = path.slice(0, depth);
    const { kind, status } = kindOf(mark);
    counts[kind]!++;
    results.add([...suites, withoutTime(title)].join(" "), status);
  }
  return results.report(end >= 0 && agrees(lines, end, counts));
}

function kindOf(mark: string): { kind: string; status: TestStatus } {
  if (mark === "-") return { kind: "pending", status: "skipped" };
  if (mark.endsWith(")")) return { kind: "failing", status: "failed" };
  return { kind: "passing", status: "passed" };
}

/** Slow tests have their time behind their title. */
const withoutTime = (title: string): string => /^(.*) \(\d+ms\)$/.exec(title)?.[1] ?? title;

function agrees(lines: readonly string[], end: number, counts: Readonly<Record<string, number>>): boolean {
  const said: Record<string, number> = { passing: 0, pending: 0, failing: 0 };
  for (const line of lines.slice(end)) {
    if (line.startsWith("  1) ")) break;
    const [, number, word] = /^ {2}(\d+) (passing|pending|failing)\b/.exec(line) ?? [];
    if (word !== undefined) said[word] = Number(number);
  }
  return Object.entries(counts).every(([word, count]) => said[word] === count);
}
