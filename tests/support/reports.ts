/** Reports as parsers get them. */
import type { ReportFormat } from "../../core/task.ts";
import { parseReport, type ReportInput } from "../../services/grading/parsers/index.ts";

export const parse = (format: ReportFormat, text: string, more: Partial<ReportInput> = {}) =>
  parseReport(format, {
    text,
    stderr: "",
    truncated: false,
    exitCode: 0,
    scope: "",
    workdir: "/repo",
    ...more,
  });

export const lines = (...all: readonly string[]): string => `${all.join("\n")}\n`;
