/** What a parser of test reports gets and gives. */
import type { ReportFormat } from "../../../core/task.ts";
import type { TestReport } from "../types.ts";

export interface ReportInput {
  /** The report: what the command printed on stdout, or the text of its report file. */
  readonly text: string;
  /** What it printed on stderr; some runners report there. */
  readonly stderr: string;
  /** The text was cut at a limit: the report is never complete. */
  readonly truncated: boolean;
  /** null = a signal ended the command. */
  readonly exitCode: number | null;
  /** Stands before every test's name, as `<scope> > `; "" = nothing does. */
  readonly scope: string;
  /** Absolute path of the working tree: names of files below it are relative to it. */
  readonly workdir: string;
}

/**
 * Pure and total: any text gives a report, at worst an empty, incomplete one. Names that occur twice get `#2`, `#3`, … in the order of the report
 * (TAP, which numbers each: `#1` too).
 */
export type ReportParser = (input: ReportInput) => TestReport;

export type ReportParsers = Readonly<Record<ReportFormat, ReportParser>>;
