/** Reads JUnit XML, as pytest, mocha, vitest, gotestsum and others write it. Pure. */
import { SaxesParser, type SaxesTagPlain } from "saxes";
import type { TestStatus } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { Results } from "./results.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are `<classname> > <name>`, or the name alone. Complete when the XML is well-formed to its end, each suite's `tests`, `skipped`, and `failures`
 * with `errors` and `timeouts`, fit its test cases, no suite has an error of its own, and every outcome is a known one.
 */
export function parseJunit({ text, scope }: ReportInput): TestReport {
  const reader = new JunitReader(scope);
  const parser = new SaxesParser({ xmlns: false });
  let wellFormed = true;
  // With a handler the parser goes on, as far as it can: what came before an error counts.
  parser.on("error", () => {
    wellFormed = false;
  });
  parser.on("opentag", (tag) => {
    if (wellFormed) reader.open(tag);
  });
  parser.on("closetag", ({ name }) => {
    if (wellFormed) reader.close(local(name));
  });
  parser.write(documentIn(text)).close();
  return reader.report(wellFormed);
}

/** The document without what a command printed before and after it. */
function documentIn(text: string): string {
  const start = /^(?:<\?xml\b|<testsuites?\b)/m.exec(text)?.index ?? 0;
  const ends = ["</testsuites>", "</testsuite>"].map((tag) => text.lastIndexOf(tag) + tag.length);
  const tags = ends.filter((end, index) => end >= [13, 12][index]!);
  return tags.length === 0 ? text.slice(start) : text.slice(start, Math.max(start, ...tags));
}

interface Counts {
  cases: number;
  failing: number;
  skipped: number;
  /** Cases that some tools do not count: a failed hook's. */
  hooks: number;
  /** Tests that passed and whose tear-down failed: pytest counts them twice. */
  tearDowns: number;
}

interface Suite {
  readonly attributes: Readonly<Record<string, string>>;
  readonly own: Counts;
  /** Those of nested suites, too. */
  readonly all: Counts;
}

const newCounts = (): Counts => ({ cases: 0, failing: 0, skipped: 0, hooks: 0, tearDowns: 0 });

/** Some tools put their elements into a namespace. */
const local = (name: string): string => name.slice(name.lastIndexOf(":") + 1);

const SUITES = new Set(["testsuite", "testsuites"]);
const HOOK = /^"(?:before|after) (?:all|each)" hook/;
const FAILURES = new Set(["failure", "error"]);
/** Within a test case, and no outcome; of a test that passed when it was run again (`flaky…`), or failed each time (`rerun…`). */
const OTHERS = new Set(
  "properties|system-out|system-err|flakyFailure|flakyError|rerunFailure|rerunError".split("|"),
);

/** What a test case's own attributes `status` and `result` may say. */
const OUTCOMES: Readonly<Record<string, TestStatus>> = Object.fromEntries([
  ...["run", "completed", "pass", "passed", "success", "ok"].map((word) => [word, "passed"]),
  ...["fail", "failed", "failure", "error", "timeout"].map((word) => [word, "failed"]),
  ...["notrun", "disabled", "skipped", "ignored", "suppressed"].map((word) => [word, "skipped"]),
]);

interface Case {
  readonly name: string;
  readonly isHook: boolean;
  status: TestStatus;
  tearDown: boolean;
}

class JunitReader {
  private readonly results: Results;
  private readonly suites: Suite[] = [];
  private test: Case | undefined;
  /** The elements that are open. */
  private readonly path: string[] = [];
  private complete = true;
  private seen = false;

  constructor(scope: string) {
    this.results = new Results(scope);
  }

  open({ name: qualified, attributes }: SaxesTagPlain): void {
    const name = local(qualified);
    const parent = this.path.at(-1) ?? "";
    this.path.push(name);
    if (SUITES.has(name)) {
      this.seen = true;
      this.suites.push({ attributes, own: newCounts(), all: newCounts() });
    } else if (name === "testcase") {
      if (this.test !== undefined) {
        // One within another: the outer's result must not be lost.
        this.end(this.test);
        this.complete = false;
      }
      this.test = this.begin(attributes);
    } else if (this.test !== undefined) this.outcome(name, parent, attributes);
    else if (FAILURES.has(name) && SUITES.has(parent)) {
      this.results.add(this.suites.at(-1)?.attributes.name ?? name, "failed");
      this.complete = false;
    }
  }

  private begin({ classname = "", name = "", status = "", result = "" }: Record<string, string>): Case {
    const words = [status, result].filter((word) => word !== "").map((word) => word.toLowerCase());
    const said = words.map((word) => (Object.hasOwn(OUTCOMES, word) ? OUTCOMES[word] : undefined));
    if (said.includes(undefined)) this.complete = false;
    return {
      name: classname === "" ? name : `${classname} > ${name}`,
      isHook: HOOK.test(name),
      status: (["failed", "skipped"] as const).find((one) => said.includes(one)) ?? "passed",
      tearDown: false,
    };
  }

  private outcome(name: string, parent: string, attributes: Readonly<Record<string, string>>): void {
    const test = this.test!;
    if (FAILURES.has(name)) {
      test.tearDown = test.status === "passed" && /^failed on teardown\b/.test(attributes.message ?? "");
      test.status = "failed";
    } else if (name === "skipped") {
      if (test.status !== "failed") test.status = attributes.type === "pytest.xfail" ? "xfail" : "skipped";
    } else if (parent === "testcase" && !OTHERS.has(name)) this.complete = false;
  }

  private end(test: Case): void {
    this.results.add(test.name, test.status);
    const suite = this.suites.at(-1);
    if (suite !== undefined) for (const counts of [suite.own, suite.all]) count(counts, test);
    this.test = undefined;
  }

  close(name: string): void {
    this.path.pop();
    if (name === "testcase" && this.test !== undefined) this.end(this.test);
    else if (SUITES.has(name)) {
      const suite = this.suites.pop();
      if (suite === undefined) return;
      if (!fits(suite)) this.complete = false;
      const outer = this.suites.at(-1);
      if (outer !== undefined) add(outer.all, suite.all);
    }
  }

  report(wellFormed: boolean): TestReport {
    return this.results.report(wellFormed && this.seen && this.complete && this.suites.length === 0);
  }
}

function count(counts: Counts, test: { isHook: boolean; status: TestStatus; tearDown: boolean }): void {
  add(counts, {
    cases: 1,
    failing: test.status === "failed" ? 1 : 0,
    skipped: test.status === "skipped" || test.status === "xfail" ? 1 : 0,
    hooks: test.isHook ? 1 : 0,
    tearDowns: test.tearDown ? 1 : 0,
  });
}

function add(to: Counts, from: Counts): void {
  to.cases += from.cases;
  to.failing += from.failing;
  to.skipped += from.skipped;
  to.hooks += from.hooks;
  to.tearDowns += from.tearDowns;
}

/** A suite counts its own cases, or its nested suites' too. What it does not count is not checked. */
const fits = ({ attributes, own, all }: Suite): boolean =>
  [own, all].some((counts) => {
    const { tests, failures, errors, skipped, timeouts } = attributes;
    const failing = Number(failures ?? 0) + Number(errors ?? 0) + Number(timeouts ?? 0);
    const { cases, hooks, tearDowns } = counts;
    return (
      (tests === undefined || [cases, cases - hooks, cases + tearDowns].includes(Number(tests))) &&
      // mocha counts fewer than it marks.
      Number(skipped ?? 0) <= counts.skipped &&
      ([failures, errors, timeouts].every((number) => number === undefined) || failing === counts.failing)
    );
  });
