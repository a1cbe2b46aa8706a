/** The lines that pytest prints for a test, and its last line. Pure. */
import type { TestStatus } from "../../../core/task.ts";

export const WORDS = ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"] as const;
export type Word = (typeof WORDS)[number];

/** A test that was expected to fail and passed decides nothing, as one that failed. */
export const STATUS_OF: Readonly<Record<Word, TestStatus>> = {
  PASSED: "passed",
  FAILED: "failed",
  ERROR: "failed",
  SKIPPED: "skipped",
  XFAIL: "xfail",
  XPASS: "xfail",
};

export interface Entry {
  readonly word: Word;
  readonly name: string;
}

/** `a.py::test[a b] PASSED   [ 50%]`, `a.py::test SKIPPED (why) [ 50%]`, or xdist's `[gw0] [ 50%] PASSED a.py::test`. */
export function progressEntry(line: string): Entry | undefined {
  const worker = /^\[gw\d+\] \[ *\d+%\] ([A-Z]+) (.+)$/.exec(line);
  if (worker) {
    const word = asWord(worker[1]!);
    return word && { word, name: worker[2]!.trimEnd() };
  }
  const name = line.indexOf("::");
  if (name <= 0 || line.startsWith(" ")) return undefined;
  const text = withoutProgress(line);
  const reason = text.endsWith(")") ? reasonStart(text) : -1;
  const rest = reason < 0 ? text : text.slice(0, reason);
  const at = rest.lastIndexOf(" ");
  const word = asWord(rest.slice(at + 1));
  if (word !== undefined) return { word, name: rest.slice(0, at) };
  const sub = text.lastIndexOf(" SUBFAIL");
  return sub < 0 ? undefined : { word: "FAILED", name: text.slice(0, sub) };
}

/** Without `[ 50%]` or `[1/2]` at its end. */
function withoutProgress(line: string): string {
  const text = line.trimEnd();
  const at = text.lastIndexOf("[");
  const isProgress = at >= 0 && /^\[ *\d+(?:%|\/\d+)\]$/.test(text.slice(at));
  return isProgress ? text.slice(0, at).trimEnd() : text;
}

const REASONS = [" SKIPPED (", " XFAIL (", " XPASS ("];

/** Where ` (reason)` starts: after the first such word that has one. */
function reasonStart(text: string): number {
  const starts = REASONS.map((word) => ({ word, at: text.indexOf(word) })).filter(({ at }) => at >= 0);
  const first = starts.sort((a, b) => a.at - b.at)[0];
  return first === undefined ? -1 : first.at + first.word.length - " (".length;
}

/** The word a line of the short summary starts with, and the rest; `SUBFAILED[…]` counts as failed. */
export function summaryLine(line: string): { word: Word; rest: string; isSubtest: boolean } | undefined {
  const at = line.indexOf(" ");
  if (at < 0) return undefined;
  const rest = line.slice(at + 1);
  if (line.startsWith("SUBFAIL")) return { word: "FAILED", rest, isSubtest: true };
  const word = asWord(line.slice(0, at));
  return word && { word, rest, isSubtest: false };
}

const asWord = (text: string): Word | undefined => WORDS.find((word) => word === text);

const COUNTED: Readonly<Record<string, Word>> = {
  passed: "PASSED",
  failed: "FAILED",
  error: "ERROR",
  errors: "ERROR",
  skipped: "SKIPPED",
  xfailed: "XFAIL",
  xpassed: "XPASS",
};

/** Counted, and no outcome of a test. */
const UNCOUNTED = /^(?:warnings?|deselected|reruns?|retried|subtests? (?:passed|skipped|xfailed))$/;

export interface FinalCounts {
  readonly counts: ReadonlyMap<Word, number>;
  /** Nothing else was counted, and nothing twice. */
  readonly known: boolean;
}

/** `==== 1 failed, 2 passed in 0.12s ====`, or without the rulers (`-q`). Undefined for any other line. */
export function finalCounts(line: string): FinalCounts | undefined {
  const text = line.startsWith("=") ? line.slice(line.indexOf(" ") + 1) : line;
  const [, list] =
    /^(no tests ran|\d+ [a-z0-9, ]+) in \d[\d.]*s(?: \([\d:a-z, ]+\))?(?: =+)?$/.exec(text) ?? [];
  if (list === undefined) return undefined;
  const counts = new Map<Word, number>();
  if (list === "no tests ran") return { counts, known: true };
  const parts = list.split(", ");
  let unknown = 0;
  for (const part of parts) {
    const [, number, word] = /^(\d+) ([a-z ]+)$/.exec(part) ?? [];
    if (word === undefined) return undefined;
    const counted = Object.hasOwn(COUNTED, word) ? COUNTED[word] : undefined;
    if (counted !== undefined && !counts.has(counted)) counts.set(counted, Number(number));
    else if (counted !== undefined || !UNCOUNTED.test(word)) unknown++;
  }
  // `5 files in 2.0s` is what something else printed.
  return unknown === parts.length ? undefined : { counts, known: unknown === 0 };
}

/** The number in `collecting ... collected 3 items / 1 error`, or in xdist's `2 workers [3 items]` or `gw0 [3] / gw1 [3]`. */
export function collectedIn(line: string): number | undefined {
  const found =
    /^(?:collecting \.\.\. )?collected (\d+) items?\b/.exec(line) ??
    /^\d+ workers? \[(\d+) items?\]/.exec(line) ??
    /^gw\d+ \[(\d+)\]/.exec(line);
  return found === null ? undefined : Number(found[1]);
}
