/** Reads what pytest prints, given that it names its tests: `-v`, `-rA`, or both, with or without xdist. Pure. */
import type { TestReport } from "../types.ts";
import { collectedIn, type FinalCounts, finalCounts, progressEntry } from "./pytest-lines.ts";
import { PytestSession } from "./pytest-session.ts";
import { Results } from "./results.ts";
import { linesOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/**
 * Names are node ids. A report may hold several sessions, each ended by its line of counts; an id of an earlier session gets `#2`, ….
 * Complete when every session has as many results of each kind as its counts say and no more tests than it collected, no session ended early
 * (`!!! Interrupted …`), and none was left without its counts.
 */
export function parsePytest({ text, scope }: ReportInput): TestReport {
  const results = new Results(scope);
  let session = new PytestSession();
  let sessions = 0;
  let headers = 0;
  let complete = true;
  const end = (counts: FinalCounts | undefined): void => {
    const { statuses, agrees } = session.result(counts);
    for (const [name, status] of statuses) results.add(name, status);
    complete = complete && agrees;
    session = new PytestSession();
  };
  for (const line of linesOf(text)) {
    if (isHeader(line, "test session starts")) {
      headers++;
      session.start();
    }
    const counts = finalCounts(line);
    if (counts !== undefined) {
      sessions++;
      end(counts);
    } else readLine(session, line);
  }
  if (session.hasEntries()) end(undefined);
  return results.report(complete && sessions > 0 && headers <= sessions);
}

const SUMMARY = "short test summary info";

function readLine(session: PytestSession, line: string): void {
  if (isHeader(line, SUMMARY)) session.startSummary();
  else if (isHeader(line)) session.endProgress();
  else if (session.phase === "progress" && collectedIn(line) !== undefined)
    session.collect(collectedIn(line)!);
  else if (line.startsWith("!!!")) session.endedEarly();
  else if (session.phase === "summary") session.addSummaryLine(line);
  else if (session.phase === "progress") {
    const entry = progressEntry(line);
    if (entry !== undefined) session.addProgress(entry);
  }
}

/** `=== title ===` */
function isHeader(line: string, title?: string): boolean {
  if (!line.startsWith("==") || !line.endsWith("==")) return false;
  return title === undefined || line.includes(` ${title} `);
}
