/** `env verify`: many environments proven side by side, their numbers in one table; and what any command prepares environments with. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxRuntimeName } from "../../core/experiment.ts";
import type { Catalogue, RunTests, Verification } from "../../services/environments/index.ts";
import type { SandboxRuntime } from "../../services/sandbox/index.ts";
import { UsageError } from "./errors.ts";
import { formatTable, ProgressLine, writeJson, writeLine } from "./output.ts";

/** Tests compile, start browsers' worth of modules and are timed: more at once than cores would slow each other into their limits. */
const MOST_AT_ONCE = 4;

export interface VerifyParts {
  /** Where its environments are kept. */
  readonly dataFolder: string;
  readonly runTests: RunTests;
  readonly runtime: SandboxRuntime;
}

type Result = { readonly name: string } & (
  | { readonly error: string; readonly verification?: undefined }
  | { readonly error?: undefined; readonly verification: Verification }
);

export interface VerifyRequest {
  readonly names: readonly string[];
  readonly catalogue: Catalogue;
  readonly repeats: number;
  readonly json: boolean;
}

/** Throws SandboxError `unavailable`: without its runtime nothing can be said of an environment. */
async function assertRuntimes(runtimes: ReadonlySet<SandboxRuntime>): Promise<void> {
  const { SandboxError } = await import("../../services/sandbox/index.ts");
  for (const runtime of runtimes) {
    const reason = await runtime.unavailable();
    if (reason !== null) throw new SandboxError("unavailable", reason);
  }
}

/** Exit code: 0 when every environment is what its pins say, else 1. Throws SandboxError where a runtime of theirs is not to be had. */
export async function verifyAll(
  partsOf: (name: string) => VerifyParts,
  { names, catalogue, repeats, json }: VerifyRequest,
): Promise<0 | 1> {
  const { runtimeFolder, verifyEnvironment } = await import("../../services/environments/index.ts");
  await assertRuntimes(new Set(names.map((name) => partsOf(name).runtime)));
  const scratchFolder = await mkdtemp(join(tmpdir(), "tadpole-verify-"));
  const view = new ProgressLine();
  const results: Result[] = [];
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const of = name;
      const { dataFolder, runTests, runtime } = partsOf(name);
      const result = await verifyEnvironment({
        name,
        catalogue,
        dataFolder,
        scratchFolder: runtimeFolder(scratchFolder, runtime.name),
        runTests,
        runtime,
        repeats,
        ...(json ? {} : { log: (line: string) => view.note(`  ${line}`) }),
      }).then(
        (verification): Result => ({ name: of, verification }),
        (error: Error): Result => ({ name: of, error: error.message }),
      );
      results.push(result);
      if (!json) view.note(`${results.length}/${names.length} ${resultLine(result)}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, availableParallelism()) }, work));
  } finally {
    await rm(scratchFolder, { recursive: true, force: true });
  }
  const sorted = names.map((name) => results.find((result) => result.name === name)!);
  if (json) writeJson(sorted.map(({ name, error, verification }) => verification ?? { key: name, error }));
  else writeLine(tableOf(sorted));
  const failed = sorted.filter(isWrong);
  if (!json)
    writeLine(`${sorted.length - failed.length} of ${sorted.length} environments are what their pins say`);
  return failed.length === 0 ? 0 : 1;
}

const isWrong = ({ verification }: Result): boolean =>
  verification === undefined || verification.differences.length > 0;

function resultLine({ name, error, verification }: Result): string {
  if (verification === undefined) return `✗ ${name}: ${error}`;
  if (verification.differences.length > 0) return `✗ ${name}: ${verification.differences.join("; ")}`;
  return `✓ ${verification.key}: ${verification.tests} tests, ${flakesOf(verification)}`;
}

export function flakesOf({
  unstable,
  runs,
  flakeBound,
}: Pick<Verification, "unstable" | "runs" | "flakeBound">): string {
  if (unstable.length > 0) return `unstable and left out: ${unstable.join(", ")}`;
  return `no flake seen in ${runs} runs: rate < ${flakeBound.toFixed(2)} at 95 %`;
}

function tableOf(results: readonly Result[]): string {
  const number = (pick: (verification: Verification) => string) => (result: Result) =>
    result.verification === undefined ? "" : pick(result.verification);
  return formatTable(results, [
    { title: "environment", value: ({ name, verification }) => verification?.key ?? name },
    { title: "tests", align: "right", value: number(({ tests }) => String(tests)) },
    { title: "failing", align: "right", value: number(({ failing }) => String(failing)) },
    { title: "unstable", align: "right", value: number(({ unstable }) => String(unstable.length)) },
    { title: "runs", align: "right", value: number(({ runs }) => String(runs)) },
    { title: "flake rate <", align: "right", value: number(({ flakeBound }) => flakeBound.toFixed(2)) },
    { title: "CPU s", align: "right", value: number(({ cpuSeconds }) => cpuSeconds.toFixed(2)) },
    { title: "same", value: (result) => (isWrong(result) ? "no" : "yes") },
  ]);
}

/** The runtime asked for, else the first that can run the entry's tests. Throws UsageError for one that cannot: its own system is no image. */
export async function runtimeFor(
  entry: { readonly source: string },
  asked: SandboxRuntimeName | undefined,
): Promise<SandboxRuntimeName> {
  const { runtimesOf } = await import("../../services/environments/index.ts");
  const able = runtimesOf(entry);
  if (asked !== undefined && !able.includes(asked))
    throw new UsageError(`--runtime ${asked}: ${entry.source} runs in ${able.join(", ")} only`);
  return asked ?? able[0]!;
}

interface Graders {
  /** The data folder. */
  readonly folder: string;
  /** What a runtime's environments are prepared with, made when it is first asked for. */
  of(runtime: SandboxRuntimeName): VerifyParts;
}

/** Cold graders of this data folder, for as long as `work` takes. */
export async function withGrading<T>(work: (graders: Graders) => Promise<T>): Promise<T> {
  const { createGrading } = await import("../../services/grading/index.ts");
  const { runtimeFolder } = await import("../../services/environments/index.ts");
  const { createRuntime } = await import("../../services/sandbox/index.ts");
  const { dataFolder, hostOptions, prepareDataFolder } = await import("../../infra/stack/index.ts");
  const folder = prepareDataFolder(dataFolder());
  const closing: (() => Promise<void>)[] = [];
  const made = new Map<SandboxRuntimeName, VerifyParts>();
  const make = (name: SandboxRuntimeName): VerifyParts => {
    const runtime = createRuntime(name, hostOptions(folder));
    const grading = createGrading({ runtime });
    closing.push(() => grading.close());
    return {
      dataFolder: runtimeFolder(folder, name),
      runtime,
      runTests: (request) => grading.runTests(request, "cold"),
    };
  };
  const of = (name: SandboxRuntimeName): VerifyParts => {
    const parts = made.get(name) ?? make(name);
    made.set(name, parts);
    return parts;
  };
  try {
    return await work({ folder, of });
  } finally {
    for (const close of closing) await close();
  }
}
