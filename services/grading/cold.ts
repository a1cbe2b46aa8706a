/** The cold runner: a fresh sandbox per run, a new node per test file. */
import { createHash, randomUUID } from "node:crypto";
import { hashManifest, type SandboxRuntime } from "../sandbox/index.ts";
import { FileResults } from "./file-results.ts";
import { mountsOf, withoutProtected } from "./protect.ts";
import { gradedManifest } from "./tree.ts";
import type { TestRunner, TestRunRequest, TestRunResult } from "./types.ts";

/** A sandbox whose run was lost with its process is reaped after the run's own limit and this. */
const DEADLINE_EXTRA_MS = 60_000;

export function createColdRunner(runtime: SandboxRuntime): TestRunner {
  return {
    mode: "cold",
    run: (request) => runCold(runtime, request),
    forget: async () => {},
    close: async () => {},
  };
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
