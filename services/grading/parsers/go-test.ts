/** Reads what `go test -json` prints, or the text of `go test -v`. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { isRecord, linesOf, stringOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are `<package> > <test>`, subtests with `/`. A package that fails without a failed test (it does not build, panics outside a test, exits) is a failed
 * test by its own name. Complete when every package that began has its end, its tests too, and its `PASS` or `FAIL`: a panic and an exit leave none.
 */
export function parseGoTest({ text, scope }: ReportInput): TestReport {
  const lines = linesOf(text);
  const report = new GoReport(scope);
  if (isJson(lines)) readJson(lines, report);
  else readText(lines, report);
  return report.end();
}

const STATUSES: Readonly<Record<string, TestStatus>> = { pass: "passed", fail: "failed", skip: "skipped" };

class GoReport {
  private readonly results: Results;
  private readonly packages = new Map<string, GoPackage>();
  private readonly ended = new Set<string>();
  private complete = true;

  constructor(scope: string) {
    this.results = new Results(scope);
  }

  package(name: string): GoPackage {
    const known = this.packages.get(name);
    if (known !== undefined) return known;
    const made: GoPackage = { running: new Set(), failed: false, finished: false, failedBuild: false };
    this.packages.set(name, made);
    return made;
  }

  begin(name: string, test: string): void {
    const { running } = this.package(name);
    if (running.has(test)) this.complete = false;
    running.add(test);
  }

  result(name: string, test: string, status: TestStatus): void {
    const owner = this.package(name);
    if (!owner.running.delete(test)) this.complete = false;
    if (status === "failed") owner.failed = true;
    this.results.add(`${name} > ${test}`, status);
  }

  endPackage(name: string, status: TestStatus): void {
    const owner = this.package(name);
    this.packages.delete(name);
    // Go tests a package once (`-count` repeats within it): one of two ends is someone else's.
    if (this.ended.has(name)) this.complete = false;
    this.ended.add(name);
    const whole = owner.running.size === 0 && (owner.finished || owner.failedBuild || status === "skipped");
    if (!whole) this.complete = false;
    if (status === "failed" && !owner.failed) this.results.add(name, "failed");
  }

  end(): TestReport {
    return this.results.report(this.complete && this.ended.size > 0 && this.packages.size === 0);
  }
}

interface GoPackage {
  readonly running: Set<string>;
  /** One of its tests did. */
  failed: boolean;
  /** Its `PASS` or `FAIL` was seen. */
  finished: boolean;
  failedBuild: boolean;
}

function eventIn(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && typeof value.Action === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What comes first decides: a test's output may hold events, and events hold text. */
function isJson(lines: readonly string[]): boolean {
  for (const line of lines) {
    if (line.startsWith("{") && eventIn(line) !== undefined) return true;
    if (line.startsWith("=== RUN ") || packageIn(line) !== undefined) return false;
  }
  return false;
}

function readJson(lines: readonly string[], report: GoReport): void {
  for (const line of lines) {
    const event = line.startsWith("{") ? eventIn(line) : undefined;
    if (event === undefined) {
      readEndOfPackage(line, report);
      continue;
    }
    const [name, test, action] = [stringOf(event.Package), stringOf(event.Test), stringOf(event.Action)];
    if (name === "") continue;
    const status = STATUSES[action];
    if (test !== "") {
      if (action === "run") report.begin(name, test);
      else if (status !== undefined) report.result(name, test, status);
      continue;
    }
    const owner = report.package(name);
    const output = stringOf(event.Output);
    if (output === "PASS\n" || output === "FAIL\n") owner.finished = true;
    if (event.FailedBuild !== undefined || isFailedBuild(output.trimEnd())) owner.failedBuild = true;
    if (status !== undefined) report.endPackage(name, status);
  }
}

const isFailedBuild = (line: string): boolean =>
  line.endsWith("[build failed]") || line.endsWith("[setup failed]");

/** A package's name stands in its last line: what came before is kept under "". */
function readText(lines: readonly string[], report: GoReport): void {
  let pending: [test: string, status: TestStatus][] = [];
  let running = new Set<string>();
  let finished = false;
  for (const line of lines) {
    const run = /^=== RUN +(\S+)$/.exec(line)?.[1];
    const name = packageIn(line);
    if (run !== undefined) running.add(run);
    else if (line === "PASS" || line === "FAIL") finished = true;
    else if (name !== undefined) {
      const owner = report.package(name);
      owner.finished = finished;
      for (const test of running) owner.running.add(test);
      for (const [test, status] of pending) report.result(name, test, status);
      readEndOfPackage(line, report);
      pending = [];
      running = new Set();
      finished = false;
    } else {
      // A line that only looks like a result belongs to no test that runs.
      const result = resultIn(line);
      if (result !== undefined && running.has(result[0])) pending.push(result);
    }
  }
  for (const test of running) report.package("").running.add(test);
}

/** `ok  	a/b	0.1s`, `FAIL	a/b	0.1s`, `FAIL	a/b [build failed]`, `?   	a/b	[no test files]`, `	a/b		coverage: …` */
function packageIn(line: string): string | undefined {
  return /^(?:ok {2}|FAIL|\? {3})\t(\S+)/.exec(line)?.[1];
}

function readEndOfPackage(line: string, report: GoReport): void {
  const name = packageIn(line);
  if (name === undefined) return;
  if (isFailedBuild(line)) report.package(name).failedBuild = true;
  const status = line.startsWith("ok") ? "passed" : line.startsWith("FAIL") ? "failed" : "skipped";
  report.endPackage(name, status);
}

/** `    --- PASS: TestA/sub (0.00s)`, also behind output that did not end its line. */
function resultIn(line: string): [test: string, status: TestStatus] | undefined {
  const at = line.lastIndexOf("--- ");
  if (at < 0) return undefined;
  const [, action, test] = /^--- (PASS|FAIL|SKIP): (\S+) \(\d[\d.]*s\)$/.exec(line.slice(at)) ?? [];
  const status = STATUSES[action?.toLowerCase() ?? ""];
  return test === undefined || status === undefined ? undefined : [test, status];
}
