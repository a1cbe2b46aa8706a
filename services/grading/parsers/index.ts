/** Parsers of test reports, one for each format. docs/grading.md, "Test reports", says what each reads. */
import type { ReportFormat } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { parseReward } from "./reward.ts";
import { parseTap } from "./tap.ts";
import { linesOf } from "./text.ts";
import type { ReportInput, ReportParser, ReportParsers } from "./types.ts";

export type { ReportInput, ReportParser, ReportParsers } from "./types.ts";

const unread: ReportParser = () => ({ statuses: {}, complete: false });

/**
 * Whatever the format, a report is not complete that was cut, whose command a signal ended, or that names no test.
 */
const guarded =
  (parse: ReportParser): ReportParser =>
  (input) => {
    const { statuses, complete } = parse(input);
    const whole = complete && !input.truncated && input.exitCode !== null && Object.keys(statuses).length > 0;
    return { statuses, complete: whole };
  };

export const parsers: ReportParsers = {
  tap: guarded(({ text, scope }) => parseTap(linesOf(text).join("\n"), scope)),
  pytest: unread,
  unittest: unread,
  "node-test": unread,
  jest: unread,
  vitest: unread,
  mocha: unread,
  "go-test": unread,
  "cargo-test": unread,
  junit: unread,
  reward: guarded(parseReward),
};

/** Statuses of the report's tests by name, and whether the report's own end was seen. Never throws. */
export const parseReport = (format: ReportFormat, input: ReportInput): TestReport => parsers[format](input);
