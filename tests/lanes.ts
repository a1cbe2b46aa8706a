/** What the test command counts, and what each lane needs of a machine. */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresPrograms, temporalProgram } from "../infra/stack/index.ts";
import { requireTool, TOOLS } from "../infra/tools.ts";
import { createProcessRuntime } from "../services/sandbox/index.ts";
import { gpuPath } from "./support/gpu-path.ts";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const noCounts: Counts = { passed: 0, failed: 0, skipped: 0 };

export function addCounts(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** As vitest's JSON report has it, as far as it is read here. */
interface Report {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** A file that failed before its first test (an import, a hook) counts as one failed test. */
export function countReport({ testResults }: Report): Counts {
  return testResults.map(countFile).reduce(addCounts, noCounts);
}

function countFile({ status, assertionResults }: Report["testResults"][number]): Counts {
  const count = (...wanted: string[]) =>
    assertionResults.filter((test) => wanted.includes(test.status)).length;
  const failed = count("failed");
  return {
    passed: count("passed"),
    failed: status === "failed" && failed === 0 ? 1 : failed,
    skipped: assertionResults.length - count("passed", "failed"),
  };
}

/** The test command's last line; `.ci` and people read it. */
export function lastLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

const needs: Readonly<Record<string, readonly (() => Promise<unknown>)[]>> = {
  contract: [sandbox, objectStore, compose],
  integration: [sandbox, temporal, postgresPrograms, objectStore],
  "gpu-path": [gpuPath],
  e2e: [sandbox, temporal, postgresPrograms],
};

/** Why this machine cannot run a lane; null when it can. */
export async function missingFor(lane: string): Promise<string | null> {
  for (const need of needs[lane] ?? []) {
    const problem = await need().then(
      () => null,
      (error: Error) => error.message,
    );
    if (problem !== null) return problem;
  }
  return null;
}

async function sandbox(): Promise<void> {
  const options = { root: join(tmpdir(), "tadpole-sandbox-probe"), nodePath: process.execPath };
  const reason = await createProcessRuntime(options).unavailable();
  if (reason) throw new Error(reason);
}

async function objectStore(): Promise<string> {
  return requireTool(TOOLS.versitygw);
}

async function compose(): Promise<string> {
  return requireTool(TOOLS.compose);
}

async function temporal(): Promise<string> {
  return temporalProgram();
}
