/** Reads what `node --test` prints, by its tap or its spec reporter. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { FILE_TITLE, readTapTree } from "./tap-tree.ts";
import { indentOf, linesOf, repoPath } from "./text.ts";
import type { ReportInput } from "./types.ts";

interface Result {
  readonly path: readonly string[];
  readonly status: TestStatus;
  readonly hasChildren: boolean;
}

/**
 * Names are the titles from the outermost suite inwards, joined by ` > `; a suite, and a test with subtests, has a status of its own. A file
 * that reported no test counts as one where it failed. Complete when there are as many results, and of each kind as many, as the summary says.
 */
export function parseNodeTest({ text, scope, workdir }: ReportInput): TestReport {
  const lines = linesOf(text);
  // What tests print stands in the spec reporter's text as it is; in TAP it is a comment.
  const tap =
    lines.some((line) => line.startsWith("TAP version ")) && !lines.some((line) => line.startsWith("ℹ "));
  const { results, complete } = tap ? readTap(lines) : readSpec(lines);
  const report = new Results(scope);
  for (const { path, status, hasChildren } of results) {
    const isFile = path.length === 1 && !hasChildren && FILE_TITLE.test(path[0]!);
    if (isFile && status === "passed") continue;
    report.add(isFile ? repoPath(path[0]!, workdir) : path.join(" > "), status);
  }
  return report.report(complete);
}

interface Read {
  readonly results: readonly Result[];
  readonly complete: boolean;
}

function readTap(lines: readonly string[]): Read {
  const { results, complete, comments } = readTapTree(lines);
  const summary = new Map<string, number>();
  for (const comment of comments) addCount(summary, comment);
  return { results, complete: complete && agrees(summary, results) };
}

/** `tests 3`, `suites 1`, … A number that is given twice is none. */
function addCount(summary: Map<string, number>, text: string): void {
  const [, key, value] = /^([a-z_]+) (\d+)/.exec(text) ?? [];
  if (key !== undefined) summary.set(key, summary.has(key) ? Number.NaN : Number(value));
}

const COUNTS = ["pass", "fail", "cancelled", "skipped", "todo"];

/**
 * Kinds count tests alone, results hold suites, too. A result with others inside is a suite or a test with subtests, one without a test or an
 * empty suite: where as many have others inside as there are suites, those are the suites; else each kind may have that many more.
 */
function agrees(summary: ReadonlyMap<string, number>, results: readonly Result[]): boolean {
  const said = (key: string) => summary.get(key) ?? 0;
  const [tests, suites] = [said("tests"), said("suites")];
  if (!summary.has("tests") || !summary.has("duration_ms") || tests + suites !== results.length) return false;
  if (tests !== COUNTS.reduce((sum, key) => sum + said(key), 0)) return false;
  const known = results.filter(({ hasChildren }) => hasChildren).length === suites;
  const of = (status: TestStatus) =>
    results.filter((result) => result.status === status && !(known && result.hasChildren)).length;
  const fits = (count: number, of_: number) => of_ >= count && of_ <= count + (known ? 0 : suites);
  return (
    fits(said("pass"), of("passed")) &&
    fits(said("fail") + said("cancelled"), of("failed")) &&
    fits(said("skipped") + said("todo"), of("skipped") + of("xfail"))
  );
}

const SYMBOLS: Readonly<Record<string, TestStatus>> = {
  "✔": "passed",
  "✖": "failed",
  "﹣": "skipped",
  "⚠": "xfail",
};

/** Two spaces more for each level; a parent's line with the arrow comes first, its result after its children's. */
function readSpec(lines: readonly string[]): Read {
  const results: Result[] = [];
  const open: string[] = [];
  const summary = new Map<string, number>();
  /** Results, and failed ones, before each open parent's own. */
  const before: { readonly results: number; readonly failed: number }[] = [];
  let failed = 0;
  for (const line of lines) {
    if (line.startsWith("ℹ ")) addCount(summary, line.slice(2));
    if (summary.size > 0) continue;
    const indent = indentOf(line);
    const depth = indent / 2;
    const symbol = line[indent] ?? "";
    const arrow = symbol === "▶";
    const known = SYMBOLS[symbol];
    if ((!arrow && known === undefined) || line[indent + 1] !== " " || !Number.isInteger(depth)) continue;
    if (depth > open.length) continue;
    const { name, timed, directive } = splitTime(line.slice(indent + 2));
    if (arrow && !timed) {
      open.splice(depth, open.length, name);
      before.splice(depth, before.length, { results: results.length, failed });
      continue;
    }
    const start = open[depth] === name ? before[depth] : undefined;
    const hasChildren = start !== undefined && results.length > start.results;
    // Node 20 gives parents an arrow whatever became of them.
    const said = known ?? (start !== undefined && failed > start.failed ? "failed" : "passed");
    const status = directive !== undefined && said !== "skipped" ? "xfail" : said;
    if (status === "failed") failed++;
    open.length = depth;
    before.length = depth;
    results.push({ path: [...open, name], status, hasChildren });
  }
  return { results, complete: agrees(summary, results) };
}

/** `name (1.5ms) # directive` */
function splitTime(text: string): { name: string; timed: boolean; directive?: string } {
  const [, name, directive] = /^(.*?) \(\d[\d.]*ms\)(?: # (.*))?$/.exec(text) ?? [];
  if (name === undefined) return { name: text, timed: false };
  return { name, timed: true, ...(directive !== undefined && { directive }) };
}
