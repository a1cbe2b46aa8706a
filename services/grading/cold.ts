/** The cold runner: a fresh sandbox per run, a new node per test file. */
import { createHash, randomUUID } from "node:crypto";
import { type ExecResult, hashManifest, type SandboxRuntime } from "../sandbox/index.ts";
import { mergeReports, parseTap } from "./parsers/tap.ts";
import { mountsOf, withoutProtected } from "./protect.ts";
import { gradedManifest } from "./tree.ts";
import type { TestReport, TestRunner, TestRunRequest, TestRunResult } from "./types.ts";

/** A test file's report is far below; what a loop prints beyond is dropped. */
export const OUTPUT_BYTES = 4 * 1024 * 1024;

/** Bytes of each file's stdout and stderr that the log keeps. */
const LOG_BYTES = 64 * 1024;

/** A sandbox whose run was lost with its process is reaped after the run's own limit and this. */
const DEADLINE_EXTRA_MS = 60_000;

export function createColdRunner(runtime: SandboxRuntime): TestRunner {
  return { mode: "cold", run: (request) => runCold(runtime, request), close: async () => {} };
}

async function runCold(runtime: SandboxRuntime, request: TestRunRequest): Promise<TestRunResult> {
  const { environment } = request;
  const overlay = withoutProtected(request.overlay, environment.entry);
  const treeHash = hashManifest(await gradedManifest(environment, overlay));
  const fence = randomUUID();
  const sandbox = await runtime.create(
    { root: environment.root, overlay, mounts: mountsOf(environment), limits: request.limits, env: {} },
    {
      experiment: "grading",
      slot: `grading/${createHash("sha256").update(treeHash).digest("hex").slice(0, 12)}`,
      attempt: 0,
      fence,
      deadline: Date.now() + request.wallSeconds * 1000 + DEADLINE_EXTRA_MS,
    },
  );
  try {
    const files = new FileResults(request);
    for (const file of request.files ?? environment.entry.tests) {
      if (files.stoppedBy !== undefined) break;
      files.add(file, await sandbox.exec(["node", file], files.remaining()));
    }
    return { ...files.result(), treeHash };
  } finally {
    await sandbox.destroy();
  }
}

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
    const report = parseTap(stdout, file);
    this.reports.push(result.stdoutTruncated ? { ...report, complete: false } : report);
    this.exitCodes[file] = result.exitCode;
    this.cpuSeconds += result.cpuSeconds;
    this.wallSeconds += result.wallSeconds;
    this.logs.push(`=== ${file}\n${stdout.slice(0, LOG_BYTES)}`);
    if (result.stderr.length > 0)
      this.logs.push(Buffer.from(result.stderr).toString("utf8").slice(0, LOG_BYTES));
    this.stoppedBy = stopOf(result);
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
