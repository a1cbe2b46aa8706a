/** TAP of either shape as a report: flat as tape prints it, or with subtests as tap does. Pure. */
import type { TestReport } from "../types.ts";
import { countsFailures, parseTap } from "./tap.ts";
import { readTapTree, SUBTEST } from "./tap-tree.ts";
import { linesOf } from "./text.ts";
import type { ReportInput } from "./types.ts";

/** Names end in `#<ordinal>`, the first in `#1`; a test with subtests is a result of its own. */
export function parseTapReport({ text, scope }: ReportInput): TestReport {
  const lines = linesOf(text);
  // Where the plan came first, a result's line that was cut would be whole but for its name.
  const cut = /^ *(?:not )?ok\b/.test(lines.at(-1)!);
  if (!lines.some((line) => line.trimStart().startsWith(SUBTEST))) {
    const flat = parseTap(lines.join("\n"), scope);
    return { ...flat, complete: flat.complete && !cut };
  }
  const { results, complete: whole, comments } = readTapTree(lines);
  const failed = results.some(({ status }) => status === "failed" || status === "xfail");
  const complete = whole && (failed || !comments.some(countsFailures));
  const statuses = new Map<string, TestReport["statuses"][string]>();
  const ordinals = new Map<string, number>();
  for (const { path, status } of results) {
    const name = (scope === "" ? path : [scope, ...path]).join(" > ");
    const ordinal = (ordinals.get(name) ?? 0) + 1;
    ordinals.set(name, ordinal);
    statuses.set(`${name}#${ordinal}`, status);
  }
  return { statuses: Object.fromEntries(statuses), complete: complete && !cut };
}
