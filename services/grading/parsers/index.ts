/** Parsers of test reports, one for each format. docs/grading.md, "Test reports", says what each reads. */
import type { ReportFormat } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";
import { parseCargoTest } from "./cargo-test.ts";
import { parseGoTest } from "./go-test.ts";
import { parseJest } from "./jest.ts";
import { parseJunit } from "./junit.ts";
import { parseMocha } from "./mocha.ts";
import { parseNodeTest } from "./node-test.ts";
import { parsePytest } from "./pytest.ts";
import { parseReward } from "./reward.ts";
import { parseTapReport } from "./tap-report.ts";
import type { ReportInput, ReportParser, ReportParsers } from "./types.ts";
import { parseUnittest } from "./unittest.ts";
import { parseVitest } from "./vitest.ts";

export type { ReportInput, ReportParser, ReportParsers } from "./types.ts";

/** Whatever the format, a report is not complete that was cut, whose command a signal ended, or that names no test. */
const guarded =
  (parse: ReportParser): ReportParser =>
  (input) => {
    const { statuses, complete } = parse(input);
    const whole = complete && !input.truncated && input.exitCode !== null && Object.keys(statuses).length > 0;
    return { statuses, complete: whole };
  };

export const parsers: ReportParsers = {
  tap: guarded(parseTapReport),
  pytest: guarded(parsePytest),
  unittest: guarded(parseUnittest),
  "node-test": guarded(parseNodeTest),
  jest: guarded(parseJest),
  vitest: guarded(parseVitest),
  mocha: guarded(parseMocha),
  "go-test": guarded(parseGoTest),
  "cargo-test": guarded(parseCargoTest),
  junit: guarded(parseJunit),
  reward: guarded(parseReward),
};

/** Statuses of the report's tests by name, and whether the report's own end was seen. Never throws. */
export const parseReport = (format: ReportFormat, input: ReportInput): TestReport => parsers[format](input);
