/** Reads what `python -m unittest -v` prints. Pure. */
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import { linesOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are as printed: `test_x (module.Class.test_x)`, a failed subtest's with its description. A class or module that cannot be set up is a failed
 * test by that name. What the details at the end call failed is failed, whatever stands behind its name before: code under test writes there, too.
 * Complete when `Ran <n> tests` and its verdict were seen, n tests have a result and every number of the verdict is that of such results.
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
    const [, verdict, rest = ""] = /^(OK|FAILED|NO TESTS RAN)\b(.*)$/.exec(line) ?? [];
    if (verdict === undefined) return;
    this.runs++;
    const said = { ran: this.ran!, ok: verdict !== "FAILED", counts: countsIn(rest) };
    this.complete = this.run.end(this.results, said) && this.complete;
    this.run = new Run();
    this.ran = undefined;
    this.inDetails = false;
  }

  private readDetail(line: string): void {
    const [, kind, name] = /^(FAIL|ERROR): (.+)$/.exec(line) ?? [];
    if (kind !== undefined && name !== undefined) this.run.failures.push({ kind, name });
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

/** A verdict's numbers by their names in it. */
type Counts = ReadonlyMap<string, number>;

const COUNTED = ["failures", "errors", "skipped", "expected failures", "unexpected successes"];

/** ` (failures=2, expected failures=1)`; undefined where it says what nobody knows. */
function countsIn(text: string): Counts | undefined {
  const counts = new Map<string, number>();
  if (text.trim() === "") return counts;
  const [, list] = /^ \((.*)\)\s*$/.exec(text) ?? [];
  for (const part of list?.split(", ") ?? [""]) {
    const [, name = "", number] = /^([a-z ]+)=(\d+)$/.exec(part) ?? [];
    if (!COUNTED.includes(name) || counts.has(name)) return undefined;
    counts.set(name, Number(number));
  }
  return counts;
}

interface Said {
  readonly ran: number;
  readonly ok: boolean;
  readonly counts: Counts | undefined;
}

interface Entry {
  readonly name: string;
  readonly word: Word;
  /** By `Ran <n> tests`. */
  readonly counted: boolean;
}

class Run {
  /** Headers of the failures' details. */
  readonly failures: { readonly kind: string; readonly name: string }[] = [];
  private readonly entries: Entry[] = [];
  /** Named, and without a result so far. */
  private readonly unresolved = new Set<string>();
  private pending: string | undefined;
  /** Before Python 3.11 each skipped subtest adds a word to its test's, in a line of its own. */
  private moreSkipped = 0;

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
    if (this.pending === undefined) {
      if (this.entries.at(-1)?.word === "skipped" && wordIn(line) === "skipped") this.moreSkipped++;
      return;
    }
    if (this.readStatus(line)) return;
    let at = line.indexOf(`${DOTS} `);
    while (at >= 0 && !this.readStatus(line.slice(at + DOTS.length + 1)))
      at = line.indexOf(`${DOTS} `, at + 1);
  }

  private readStatus(text: string): boolean {
    const word = wordIn(text);
    const name = this.pending;
    if (word === undefined || name === undefined) return false;
    this.pending = undefined;
    this.unresolved.delete(name);
    this.entries.push({ name, word, counted: !FIXTURE.test(name) });
    return true;
  }

  private readSubtest(name: string, rest: string): void {
    const at = rest.lastIndexOf(`${DOTS} `);
    const word = at < 0 ? undefined : wordIn(rest.slice(at + DOTS.length + 1));
    if (word !== undefined) this.entries.push({ name: name + rest.slice(0, at), word, counted: false });
  }

  /** Adds the run's results; true when they fit what was said of them. */
  end(results: Results, said: Said | undefined): boolean {
    const failed = new Set(this.failures.map(({ name }) => name));
    for (const name of [...failed]) failed.add(HEADER.exec(name)?.[2] ?? name);
    const listed = new Set(this.entries.map(({ name }) => name));
    for (const { name, word } of this.entries)
      results.add(name, failed.has(name) ? "failed" : STATUSES[word]);
    const late = [...this.unresolved].filter((name) => failed.has(name));
    for (const name of late) results.add(name, "failed");
    // Only in the details: failed subtests before Python 3.11, and what is no test.
    const named = new Set([...listed, ...late]);
    for (const name of new Set(this.failures.map((failure) => failure.name)))
      if (!named.has(name)) results.add(name, "failed");
    const ran = this.entries.filter(({ counted }) => counted).length + late.length;
    const ok = failed.size === 0 && !this.entries.some(({ word }) => STATUSES[word] === "failed");
    return said !== undefined && said.ran === ran && said.ok === ok && this.agrees(said.counts);
  }

  private agrees(said: Counts | undefined): boolean {
    const words = (wanted: Word) => this.entries.filter(({ word }) => word === wanted).length;
    const details = (wanted: string) => this.failures.filter(({ kind }) => kind === wanted).length;
    const found: Readonly<Record<string, number>> = {
      failures: details("FAIL"),
      errors: details("ERROR"),
      skipped: words("skipped") + this.moreSkipped,
      "expected failures": words("expected failure"),
      "unexpected successes": words("unexpected success"),
    };
    return said !== undefined && COUNTED.every((name) => (said.get(name) ?? 0) === found[name]);
  }
}

const STATUSES = {
  ok: "passed",
  FAIL: "failed",
  ERROR: "failed",
  "unexpected success": "failed",
  "expected failure": "xfail",
  skipped: "skipped",
} as const satisfies Readonly<Record<string, TestStatus>>;
type Word = keyof typeof STATUSES;

function wordIn(text: string): Word | undefined {
  if (text.startsWith("skipped ")) return "skipped";
  return Object.hasOwn(STATUSES, text) ? (text as Word) : undefined;
}
