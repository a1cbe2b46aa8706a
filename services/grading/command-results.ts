/** Adds up what the commands of one test run said and used. */
import type { TestCommand } from "../../core/task.ts";
import type { ExecResult } from "../sandbox/index.ts";
import { agrees } from "./exit-codes.ts";
import { parseReport } from "./parsers/index.ts";
import { mergeReports } from "./parsers/tap.ts";
import type { TestReport, TestRunRequest, TestRunResult } from "./types.ts";

/** A test file's report is far below; what a loop prints beyond is dropped. */
export const OUTPUT_BYTES = 4 * 1024 * 1024;

/** One command's output may tell of all tests of a large package. */
const WHOLE_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Bytes of each command's stdout and stderr that the log keeps. */
const LOG_BYTES = 64 * 1024;

/** The last command of a run that used up its time still gets this much, so that the limit's own kill is seen. */
const MIN_SECONDS = 1;

/** What stands for a command in messages and exit codes: its scope, or where it has none the command itself. */
export const commandName = ({ scope, argv }: Pick<TestCommand, "scope" | "argv">): string =>
  scope === "" ? argv.join(" ") : scope;

/** A report file's text; `cut` when it was too big to be read. */
export interface ReportText {
  readonly text: string;
  readonly cut: boolean;
}

/** Seconds of a whole run, and where its tree is. */
type Run = Pick<TestRunRequest, "cpuSeconds" | "wallSeconds" | "signal"> & { readonly workdir: string };

/** Adds up the results of a run's commands; the limits are the run's, each command gets what is left. */
export class CommandResults {
  stoppedBy: TestRunResult["stoppedBy"];
  private readonly request: Run;
  private readonly reports: TestReport[] = [];
  private readonly exitCodes: Record<string, number | null> = {};
  private readonly contradictions: string[] = [];
  private readonly logs: string[] = [];
  private cpuSeconds = 0;
  private wallSeconds = 0;

  constructor(request: Run) {
    this.request = request;
  }

  remaining(command?: TestCommand) {
    const { cpuSeconds, wallSeconds, signal } = this.request;
    return {
      cpuSeconds: Math.max(MIN_SECONDS, cpuSeconds - this.cpuSeconds),
      timeoutSeconds: Math.max(MIN_SECONDS, wallSeconds - this.wallSeconds),
      outputBytes: command === undefined || command.format === "tap" ? OUTPUT_BYTES : WHOLE_OUTPUT_BYTES,
      ...(signal && { signal }),
    };
  }

  /** `file` is the report file's text, for commands that write one. */
  add(command: TestCommand, result: ExecResult, file?: ReportText): void {
    const name = commandName(command);
    const stdout = Buffer.from(result.stdout).toString("utf8");
    const stderr = Buffer.from(result.stderr).toString("utf8");
    this.stoppedBy = stopOf(result);
    const report = this.reportOf(
      command,
      result,
      file ?? { text: stdout, cut: result.stdoutTruncated },
      stderr,
    );
    this.reports.push(report);
    this.exitCodes[name] = result.exitCode;
    if (!agrees(command, result.exitCode, report.statuses)) this.contradictions.push(name);
    this.cpuSeconds += result.cpuSeconds;
    this.wallSeconds += result.wallSeconds;
    this.logs.push(`=== ${name}\n${stdout.slice(0, LOG_BYTES)}`);
    if (stderr !== "") this.logs.push(stderr.slice(0, LOG_BYTES));
  }

  /** How far a command came before a limit ended it depends on the machine: such a command has no report. */
  private reportOf(
    command: TestCommand,
    { exitCode }: ExecResult,
    file: ReportText,
    stderr: string,
  ): TestReport {
    if (this.stoppedBy !== undefined) return { statuses: {}, complete: false };
    const { text, cut: truncated } = file;
    const { format, scope } = command;
    return parseReport(format, { text, stderr, truncated, exitCode, scope, workdir: this.request.workdir });
  }

  result(): Omit<TestRunResult, "treeHash"> {
    const { stoppedBy } = this;
    return {
      report: mergeReports(this.reports),
      exitCodes: this.exitCodes,
      contradictions: this.contradictions,
      ended: stoppedBy === undefined,
      outOfMemory: stoppedBy === "memory",
      ...(stoppedBy !== undefined && { stoppedBy }),
      cpuSeconds: this.cpuSeconds,
      wallSeconds: this.wallSeconds,
      log: this.logs.join("\n"),
    };
  }
}

/** The limit that ended a command, or that it met. */
export function stopOf(result: ExecResult): TestRunResult["stoppedBy"] {
  if (result.timedOut) return "timeout";
  if (result.cpuExceeded) return "cpu";
  if (result.outOfMemory) return "memory";
  if (result.tooManyProcesses) return "processes";
  if (result.diskFull) return "disk";
  return undefined;
}
