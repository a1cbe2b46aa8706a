/** The baseline: what an untouched project's tests say, over repeated runs. */
import type { StatusMap, TestStatus } from "../../core/task.ts";
import type { TestRunRequest, TestRunResult } from "../grading/types.ts";
import type { SandboxLimits } from "../sandbox/runtime.ts";
import { EnvironmentError } from "./errors.ts";
import type { Framework, LimitOverrides, PreparedEnvironment } from "./types.ts";

/** Runs an environment's commands in a fresh sandbox (the grading service's cold runner). */
export type RunTests = (request: TestRunRequest) => Promise<TestRunResult>;

/** Limits of baseline runs: far above what a package of the catalogue needs; later limits are derived from what it used. */
const LIMITS = { memoryMb: 512, processes: 64, diskMb: 64 } as const;
const CPU_SECONDS = 60;
const WALL_SECONDS = 300;

/** Share of unstable tests from which a package is refused rather than used without them. */
const MAX_UNSTABLE_SHARE = 0.1;

/** Share of tests that fail untouched, each time, from which a package is refused. */
const MAX_FAILING_SHARE = 0.1;

/** Names shown in an error message. */
const SHOWN = 5;

export interface Baseline {
  /** Status of each test that had the same one in every run. */
  readonly statuses: StatusMap;
  /** Names of the tests that had not, sorted. */
  readonly unstable: readonly string[];
  /** CPU seconds of the slowest run. */
  readonly cpuSeconds: number;
  readonly runs: number;
}

function lastLines(log: string, count: number): string {
  return log.trimEnd().split("\n").slice(-count).join("\n");
}

function quoteNames(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => `\n  ${name}`);
  return shown.join("") + (names.length > SHOWN ? `\n  and ${names.length - SHOWN} more` : "");
}

/** What a run that cannot be used did instead; undefined when it can. */
function whatIsWrong(run: TestRunResult, wallSeconds: number): string | undefined {
  if (run.stoppedBy === "timeout")
    return `did not reach their end: stopped by the timeout limit of ${wallSeconds} s`;
  if (run.stoppedBy !== undefined) return `did not reach their end: stopped by the ${run.stoppedBy} limit`;
  if (Object.keys(run.report.statuses).length === 0) return "reported no test";
  return run.ended && run.report.complete ? undefined : "did not reach their end";
}

/**
 * Pure. A test that fails in every run stays in the baseline as failed, where the framework allows it and no more than a tenth do: no task
 * is made to depend on it. Tape's are refused, because their exit codes are checked file by file.
 *
 * Throws `EnvironmentError`: `tests-fail` when a run did not reach its end, reported nothing, or tests failed in every run; `unstable` when more
 * than a tenth of the tests changed.
 */
export function mergeRuns(
  name: string,
  runs: readonly TestRunResult[],
  {
    framework = "tape",
    wallSeconds = WALL_SECONDS,
  }: { readonly framework?: Framework; readonly wallSeconds?: number } = {},
): Baseline {
  const names = new Set<string>();
  for (const [index, run] of runs.entries()) {
    const wrong = whatIsWrong(run, wallSeconds);
    if (wrong !== undefined)
      throw new EnvironmentError(
        "tests-fail",
        `${name}: its tests, run untouched (run ${index + 1} of ${runs.length}), ${wrong}\n${lastLines(run.log, 20)}`,
      );
    for (const test of Object.keys(run.report.statuses)) names.add(test);
  }
  const statuses: Record<string, TestStatus> = {};
  const unstable: string[] = [];
  for (const test of [...names].sort()) {
    const seen = new Set(runs.map((run) => run.report.statuses[test]));
    const [status] = seen;
    if (seen.size === 1 && status !== undefined) statuses[test] = status;
    else unstable.push(test);
  }
  const failing = Object.keys(statuses).filter((test) => statuses[test] === "failed");
  if (failing.length > (framework === "tape" ? 0 : MAX_FAILING_SHARE * names.size))
    throw new EnvironmentError(
      "tests-fail",
      `${name}: ${failing.length} of ${names.size} tests fail untouched:${quoteNames(failing)}\n${lastLines(runs[0]!.log, 20)}`,
    );
  const notPassing = [...unstable, ...failing];
  for (const [command, code] of runs.flatMap((run) => Object.entries(run.exitCodes)))
    if (code !== 0 && !notPassing.some((test) => framework !== "tape" || test.startsWith(`${command} > `)))
      throw new EnvironmentError(
        "tests-fail",
        `${name}: ${command}, run untouched, exits with ${code} although no test failed\n${lastLines(runs[0]!.log, 20)}`,
      );
  if (unstable.length > MAX_UNSTABLE_SHARE * names.size)
    throw new EnvironmentError(
      "unstable",
      `${name}: ${unstable.length} of ${names.size} tests changed in ${runs.length} runs of the same tree:${quoteNames(unstable)}`,
    );
  return {
    statuses,
    unstable,
    cpuSeconds: Math.max(0, ...runs.map((run) => run.cpuSeconds)),
    runs: runs.length,
  };
}

function withoutAbsent(limits: LimitOverrides = {}): Partial<SandboxLimits> {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** Seconds after which a run is stopped; default 300. */
  readonly wallSeconds?: number;
}

function runUntouched(
  environment: PreparedEnvironment,
  runTests: RunTests,
  options: RunOptions = {},
): Promise<TestRunResult> {
  const { signal, wallSeconds = WALL_SECONDS } = options;
  return runTests({
    environment,
    overlay: [],
    limits: { ...LIMITS, ...withoutAbsent(environment.entry.limits) },
    cpuSeconds: CPU_SECONDS,
    wallSeconds,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Runs the untouched tests once more. Throws `EnvironmentError` `tests-fail` when one that the baseline has as passed does not pass. */
export async function proveBaseline(environment: PreparedEnvironment, runTests: RunTests): Promise<void> {
  const { baseline, unstable, key } = environment;
  const { report, log } = await runUntouched(environment, runTests);
  const passing = Object.keys(baseline).filter((test) => baseline[test] === "passed");
  const lost = passing.filter((test) => report.statuses[test] !== "passed" && !unstable.includes(test));
  if (lost.length === 0) return;
  throw new EnvironmentError(
    "tests-fail",
    `${key}: ${lost.length} of ${passing.length} tests that passed when it was prepared, run untouched, do not any more:${quoteNames(lost)}\n${lastLines(log, 5)}`,
  );
}

/** Runs the untouched tests `repeats` times, one run after the other, so that they do not slow each other. */
export async function measureBaseline(
  environment: PreparedEnvironment,
  runTests: RunTests,
  repeats: number,
  options: RunOptions = {},
): Promise<Baseline> {
  const runs: TestRunResult[] = [];
  for (let run = 0; run < repeats; run++) {
    options.signal?.throwIfAborted();
    runs.push(await runUntouched(environment, runTests, options));
  }
  const { name, framework } = environment.entry;
  return mergeRuns(name, runs, { ...options, framework });
}
