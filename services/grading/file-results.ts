/** Adds up what the test files of one run said and used. */
import type { ExecResult } from "../sandbox/index.ts";
import { mergeReports, parseTap } from "./parsers/tap.ts";
import type { TestReport, TestRunRequest, TestRunResult } from "./types.ts";

/** A test file's report is far below; what a loop prints beyond is dropped. */
export const OUTPUT_BYTES = 4 * 1024 * 1024;

/** Bytes of each file's stdout and stderr that the log keeps. */
const LOG_BYTES = 64 * 1024;

/** Adds up the results of a run's files; the limits are the run's, each file gets what is left. */
export class FileResults {
  stoppedBy: TestRunResult["stoppedBy"];
  private readonly request: TestRunRequest;
  private readonly reports: TestReport[] = [];
  private readonly exitCodes: Record<string, number | null> = {};
  private readonly logs: string[] = [];
  private cpuSeconds = 0;
  private wallSeconds = 0;

  constructor(request: TestRunRequest) {
    this.request = request;
  }

  remaining() {
    const { cpuSeconds, wallSeconds, signal } = this.request;
    return {
      cpuSeconds: Math.max(MIN_SECONDS, cpuSeconds - this.cpuSeconds),
      timeoutSeconds: Math.max(MIN_SECONDS, wallSeconds - this.wallSeconds),
      outputBytes: OUTPUT_BYTES,
      ...(signal && { signal }),
    };
  }

  add(file: string, result: ExecResult): void {
    const stdout = Buffer.from(result.stdout).toString("utf8");
    this.stoppedBy = stopOf(result);
    this.reports.push(this.reportOf(file, stdout, result));
    this.exitCodes[file] = result.exitCode;
    this.cpuSeconds += result.cpuSeconds;
    this.wallSeconds += result.wallSeconds;
    this.logs.push(`=== ${file}\n${stdout.slice(0, LOG_BYTES)}`);
    if (result.stderr.length > 0)
      this.logs.push(Buffer.from(result.stderr).toString("utf8").slice(0, LOG_BYTES));
  }

  /** How far a file came before a limit ended it depends on the machine: such a file has no report. */
  private reportOf(file: string, stdout: string, result: ExecResult): TestReport {
    if (this.stoppedBy !== undefined) return { statuses: {}, complete: false };
    const report = parseTap(stdout, file);
    return result.stdoutTruncated ? { ...report, complete: false } : report;
  }

  result(): Omit<TestRunResult, "treeHash"> {
    const { stoppedBy } = this;
    return {
      report: mergeReports(this.reports),
      exitCodes: this.exitCodes,
      ended: stoppedBy === undefined,
      outOfMemory: stoppedBy === "memory",
      ...(stoppedBy !== undefined && { stoppedBy }),
      cpuSeconds: this.cpuSeconds,
      wallSeconds: this.wallSeconds,
      log: this.logs.join("\n"),
    };
  }
}

/** The last file of a run that used up its time still gets this much, so that the limit's own kill is seen. */
const MIN_SECONDS = 1;

function stopOf(result: ExecResult): TestRunResult["stoppedBy"] {
  if (result.timedOut) return "timeout";
  if (result.cpuExceeded) return "cpu";
  if (result.outOfMemory) return "memory";
  if (result.tooManyProcesses) return "processes";
  if (result.diskFull) return "disk";
  return undefined;
}
