/** Trials: batches of calls and single commands on a tree of an environment, each in a fresh sandbox. */
import { randomUUID } from "node:crypto";
import type { FileChange } from "../../core/task.ts";
import { boxSpec } from "../environments/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { ExecResult, Sandbox, SandboxLimits, SandboxRuntime } from "../sandbox/runtime.ts";
import type { Dialect } from "./dialects.ts";
import { readBatch } from "./reproduction.ts";

/** CPU seconds that a reproduction may take. What takes longer is no command for a bug report. */
const CALL_SECONDS = 2;
/** Only catches what sleeps: no verdict depends on it on a busy machine. */
const WALL_SECONDS = 60;
const OUTPUT_BYTES = 1 << 20;
/** A trial's sandbox that outlives this belongs to a dead process. */
const DEADLINE_MS = 10 * 60_000;

export interface TrialParts {
  readonly runtime: SandboxRuntime;
  readonly limits: SandboxLimits;
}

export interface TrialRequest {
  readonly environment: PreparedEnvironment;
  readonly overlay: readonly FileChange[];
  readonly mounts?: readonly { readonly source: string; readonly target: string }[];
  readonly signal?: AbortSignal | undefined;
}

export async function inSandbox<T>(
  { runtime, limits }: TrialParts,
  { environment, overlay, mounts = [] }: TrialRequest,
  use: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const fence = randomUUID();
  const sandbox = await runtime.create(
    boxSpec(environment, { overlay, mounts: [...environment.mounts, ...mounts], limits }),
    {
      experiment: "synthesis",
      slot: `trial/${fence}`,
      attempt: 1,
      fence,
      deadline: Date.now() + DEADLINE_MS,
    },
  );
  try {
    return await use(sandbox);
  } finally {
    await sandbox.destroy();
  }
}

export function limited(cpuSeconds: number, signal: AbortSignal | undefined) {
  const limits = { timeoutSeconds: WALL_SECONDS, cpuSeconds, outputBytes: OUTPUT_BYTES };
  return signal === undefined ? limits : { ...limits, signal };
}

/** What each call prints on the tree; undefined for one that does not end, and for those after it. */
export async function tryCalls(
  parts: TrialParts,
  request: TrialRequest,
  dialect: Dialect,
  calls: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const result = await inSandbox(parts, request, (sandbox) =>
    sandbox.exec(dialect.batch(calls), limited(CALL_SECONDS, request.signal)),
  );
  return readBatch(Buffer.from(result.stdout).toString("utf8"));
}

/** Runs the command as the agent's Bash tool does. */
export async function runCommand(
  parts: TrialParts,
  request: TrialRequest,
  command: string,
): Promise<ExecResult> {
  return inSandbox(parts, request, (sandbox) =>
    sandbox.exec(["bash", "-lc", command], limited(CALL_SECONDS, request.signal)),
  );
}
