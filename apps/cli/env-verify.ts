/** `env verify`: many environments proven side by side, their numbers in one table. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalogue, RunTests, Verification } from "../../services/environments/index.ts";
import type { SandboxRuntime } from "../../services/sandbox/index.ts";
import { formatTable, ProgressLine, writeJson, writeLine } from "./output.ts";

/** Tests compile, start browsers' worth of modules and are timed: more at once than cores would slow each other into their limits. */
const MOST_AT_ONCE = 4;

export interface VerifyParts {
  readonly folder: string;
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

/** Exit code: 0 when every environment is what its pins say, else 1. */
export async function verifyAll(
  { folder, runTests, runtime }: VerifyParts,
  { names, catalogue, repeats, json }: VerifyRequest,
): Promise<0 | 1> {
  const { verifyEnvironment } = await import("../../services/environments/index.ts");
  const scratchFolder = await mkdtemp(join(tmpdir(), "tadpole-verify-"));
  const view = new ProgressLine();
  const results: Result[] = [];
  const waiting = [...names];
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const of = name;
      const result = await verifyEnvironment({
        name,
        catalogue,
        dataFolder: folder,
        scratchFolder,
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
