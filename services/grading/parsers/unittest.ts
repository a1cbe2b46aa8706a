/** Reads what `python -m unittest -v` prints. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { linesOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are as printed: `test_x (module.Class.test_x)`, a failed subtest's with its description. A class or module that cannot be set up is a failed
 * test by that name. Complete when `Ran <n> tests` and its verdict were seen, n tests have a result and the verdict fits them.
 */
export function parseUnittest({ text, stderr, scope }: ReportInput): TestReport {
  // unittest reports on stderr: what else printed "Ran 3 tests" on stdout is no report.
  const own = /^Ran \d+ tests? in /m.test(stderr) || /^\S+ \(\S+\) \.\.\. /m.test(stderr) ? stderr : text;
  const reader = new UnittestReader(scope);
  for (const line of linesOf(own)) reader.read(line);
  return reader.report();
}

const RULER = "=".repeat(70);

class UnittestReader {
  private readonly results: Results;
  private run = new Run();
  private runs = 0;
  private complete = true;
  /** `Ran <n> tests` waits for its verdict. */
  private ran: number | undefined;
  private afterRuler = false;
  private inDetails = false;

  constructor(scope: string) {
    this.results = new Results(scope);
  }

  read(line: string): void {
    const wasRuler = this.afterRuler;
    this.afterRuler = line === RULER;
    const ran = /^Ran (\d+) tests? in \d/.exec(line)?.[1];
    if (this.ran !== undefined) this.readVerdict(line);
    else if (ran !== undefined) this.ran = Number(ran);
    else if (this.afterRuler) this.inDetails = true;
    else if (wasRuler) this.readDetail(line);
    else if (!this.inDetails) this.run.readProgress(line);
  }

  private readVerdict(line: string): void {
    const verdict = /^(OK|FAILED|NO TESTS RAN)\b/.exec(line)?.[1];
    if (verdict === undefined) return;
    this.runs++;
    this.complete = this.run.end(this.results, { ran: this.ran!, ok: verdict !== "FAILED" }) && this.complete;
    this.run = new Run();
    this.ran = undefined;
    this.inDetails = false;
  }

  private readDetail(line: string): void {
    const failed = /^(?:FAIL|ERROR): (.+)$/.exec(line)?.[1];
    if (failed !== undefined) this.run.failures.push(failed);
  }

  report(): TestReport {
    const pending = this.run.hasResults();
    if (pending) this.run.end(this.results, undefined);
    return this.results.report(this.complete && this.runs > 0 && !pending && this.ran === undefined);
  }
}

/** `name (module.Class.name)`, then a subtest's description or nothing, then ` ... `. */
const HEADER = /^( {2})?((?:\S+ \(\S+\))|(?:Doctest: \S+))(.*)$/;
const DOTS = " ...";
/** Each takes a look at the whole rest of its line: more in one line are not read. */
const MAX_HEADERS = 100;
/** Not counted by `Ran <n> tests`. */
const FIXTURE = /^(?:setUp|tearDown)(?:Class|Module) \(/;

class Run {
  /** Headers of the failures' details. */
  readonly failures: string[] = [];
  private readonly entries: {
    readonly name: string;
    readonly status: TestStatus;
    readonly counted: boolean;
  }[] = [];
  /** Named, and without a result so far. */
  private readonly unresolved = new Set<string>();
  private pending: string | undefined;

  hasResults(): boolean {
    return this.entries.length > 0 || this.failures.length > 0 || this.unresolved.size > 0;
  }

  readProgress(line: string): void {
    let text = line;
    for (let headers = 0; headers < MAX_HEADERS; headers++) {
      const [, indent, name, rest = ""] = HEADER.exec(text) ?? [];
      const isTest = name !== undefined && indent === undefined && (rest === "" || rest.startsWith(DOTS));
      if (name !== undefined && indent !== undefined) this.readSubtest(name, rest);
      else if (!isTest) this.readRest(text);
      else {
        this.pending = name;
        this.unresolved.add(name);
        text = rest.slice(DOTS.length + 1);
        // Before Python 3.11 a test with failed subtests ends without a line end.
        if (!this.readStatus(text) && text !== "") continue;
      }
      return;
    }
  }

  /** The end of a pending test's line: its docstring and status, its status after other output, or neither. */
  private readRest(line: string): void {
    if (this.pending === undefined || this.readStatus(line)) return;
    let at = line.indexOf(`${DOTS} `);
    while (at >= 0 && !this.readStatus(line.slice(at + DOTS.length + 1)))
      at = line.indexOf(`${DOTS} `, at + 1);
  }

  private readStatus(text: string): boolean {
    const status = statusIn(text);
    const name = this.pending;
    if (status === undefined || name === undefined) return false;
    this.pending = undefined;
    this.unresolved.delete(name);
    this.entries.push({ name, status, counted: !FIXTURE.test(name) });
    return true;
  }

  private readSubtest(name: string, rest: string): void {
    const at = rest.lastIndexOf(`${DOTS} `);
    const status = at < 0 ? undefined : statusIn(rest.slice(at + DOTS.length + 1));
    if (status !== undefined) this.entries.push({ name: name + rest.slice(0, at), status, counted: false });
  }

  /** Adds the run's results; true when they fit what was said of them. */
  end(results: Results, said: { readonly ran: number; readonly ok: boolean } | undefined): boolean {
    const owners = new Set(this.failures.map((failure) => HEADER.exec(failure)?.[2] ?? failure));
    for (const name of this.unresolved)
      if (owners.has(name)) this.entries.push({ name, status: "failed", counted: true });
    const named = new Set(this.entries.map(({ name }) => name));
    for (const name of new Set(this.failures))
      if (!named.has(name)) this.entries.push({ name, status: "failed", counted: false });
    for (const { name, status } of this.entries) results.add(name, status);
    const counted = this.entries.filter((entry) => entry.counted).length;
    const ok = !this.entries.some(({ status }) => status === "failed");
    return said !== undefined && said.ran === counted && said.ok === ok;
  }
}

function statusIn(text: string): TestStatus | undefined {
  if (text === "ok") return "passed";
  if (text === "FAIL" || text === "ERROR" || text === "unexpected success") return "failed";
  if (text === "expected failure") return "xfail";
  return text.startsWith("skipped ") || text === "skipped" ? "skipped" : undefined;
}
