/** One session of a pytest report: what its progress and its short summary name, checked against its counts. */
import type { TestStatus } from "../../../core/task.ts";
import { type Entry, type FinalCounts, STATUS_OF, summaryLine, WORDS, type Word } from "./pytest-lines.ts";

/** A test has several results when its set-up or tear-down fails, too: the worst counts. */
const WORST: readonly TestStatus[] = ["failed", "xfail", "skipped", "passed"];

/** More separators in one line of the summary are not looked at. */
const MAX_CUTS = 50;

export class PytestSession {
  phase: "progress" | "details" | "summary" = "progress";
  private early = false;
  private header = false;
  /** Tests, as the session said before the first. */
  private collected: number | undefined;
  private twice = false;
  private readonly progress: Entry[] = [];
  private summary: string[] = [];

  /** The last summary is the session's: one that a test printed comes before. */
  startSummary(): void {
    this.phase = "summary";
    this.summary = [];
  }

  start(): void {
    this.header = true;
  }

  /** Once, before any test: later ones are what a test printed. */
  collect(tests: number): void {
    if (this.phase !== "progress" || this.progress.length > 0) return;
    if (this.collected !== undefined) this.twice = true;
    this.collected = tests;
  }

  endProgress(): void {
    if (this.phase === "progress" && this.progress.length > 0) this.phase = "details";
  }

  endedEarly(): void {
    this.early = true;
  }

  addProgress(entry: Entry): void {
    this.progress.push(entry);
  }

  addSummaryLine(line: string): void {
    this.summary.push(line);
  }

  hasEntries(): boolean {
    return this.progress.length > 0 || this.summary.length > 0;
  }

  /**
   * For each kind the list that has as many as counted; both lists, and no agreement, when neither has. Of failures and errors neither list may have
   * more: lines that the code under test printed count nowhere, and neither must one of pytest's own. A session with a header says how many
   * tests it collected.
   */
  result(final: FinalCounts | undefined): {
    readonly statuses: ReadonlyMap<string, TestStatus>;
    readonly agrees: boolean;
  } {
    const statuses = new Map<string, TestStatus>();
    let agrees = final?.known === true && !this.early;
    const inProgress = byWord(this.progress);
    const known = new Set(this.progress.map(({ name }) => name));
    const inSummary = summaryByWord(this.summary, known);
    for (const word of WORDS) {
      const wanted = final?.counts.get(word) ?? 0;
      const shown = inProgress.get(word) ?? [];
      const told = inSummary.get(word) ?? { names: [], count: 0 };
      const both = shown.length === wanted && told.count === wanted && told.names.length === wanted;
      if (both && !sameSet(shown, told.names)) agrees = false;
      const names = final && choose(shown, told, wanted);
      if (names === undefined) agrees = false;
      const more = STATUS_OF[word] === "failed" && (shown.length > wanted || told.count > wanted);
      if (more) agrees = false;
      for (const name of (more ? undefined : names) ?? [...shown, ...told.names]) {
        const status = STATUS_OF[word];
        const before = statuses.get(name);
        if (before === undefined || WORST.indexOf(status) < WORST.indexOf(before)) statuses.set(name, status);
      }
    }
    return { statuses, agrees: agrees && this.collectedFits(statuses) };
  }

  private collectedFits(statuses: ReadonlyMap<string, TestStatus>): boolean {
    if (!this.header) return true;
    const tests = [...statuses.keys()].filter((name) => name.includes("::")).length;
    return this.collected !== undefined && !this.twice && tests <= this.collected;
  }
}

interface Told {
  readonly names: string[];
  count: number;
}

function byWord(entries: readonly Entry[]): Map<Word, string[]> {
  const lists = new Map<Word, string[]>();
  for (const { word, name } of entries) {
    const list = lists.get(word);
    if (list) list.push(name);
    else lists.set(word, [name]);
  }
  return lists;
}

function summaryByWord(lines: readonly string[], known: ReadonlySet<string>): Map<Word, Told> {
  const lists = new Map<Word, Told>();
  for (const line of lines) {
    const entry = summaryLine(line);
    if (entry === undefined) continue;
    const { word, rest, isSubtest } = entry;
    const told = lists.get(word) ?? { names: [], count: 0 };
    lists.set(word, told);
    const skipped = word === "SKIPPED" ? /^\[(\d+)\] /.exec(rest) : null;
    told.count += skipped ? Number(skipped[1]) : 1;
    if (skipped === null) told.names.push(isSubtest ? subtestOwner(rest) : nodeId(word, rest, known));
  }
  return lists;
}

/** `[message] (i=1) a.py::test - reason` */
function subtestOwner(rest: string): string {
  const text = nodeId("FAILED", rest.slice(rest.lastIndexOf(") ") + 1).trimStart(), new Set());
  return text.slice(text.lastIndexOf(" ") + 1);
}

/**
 * The id before ` - reason`. Ids may hold that, too: the longest id that progress named wins; else the id ends where its brackets do. pytest 7
 * puts only a space before the reason of an XPASS.
 */
function nodeId(word: Word, rest: string, known: ReadonlySet<string>): string {
  if (known.has(rest) || word === "PASSED") return rest;
  const separator = word === "XPASS" && !rest.includes(" - ") ? " " : " - ";
  let first: string | undefined;
  let named: string | undefined;
  let at = rest.indexOf(separator);
  for (let cuts = 0; at >= 0 && cuts < MAX_CUTS; cuts++) {
    const id = rest.slice(0, at);
    if (known.has(id)) named = id;
    if (first === undefined && (!id.includes("[") || id.endsWith("]"))) first = id;
    at = rest.indexOf(separator, at + 1);
  }
  return named ?? first ?? rest;
}

/** Skipped tests have no names in the summary: they are named where progress does, and otherwise absent. */
function choose(shown: readonly string[], told: Told, wanted: number): readonly string[] | undefined {
  if (told.count === wanted && told.names.length === wanted) return told.names;
  if (shown.length === wanted) return shown;
  return told.count === wanted ? told.names : undefined;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const names = new Set(a);
  return names.size === new Set(b).size && b.every((name) => names.has(name));
}
