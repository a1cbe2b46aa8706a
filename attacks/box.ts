/** The agent's box, as a rollout makes it, and what a script did in it. */
import { randomUUID } from "node:crypto";
import type { FileChange, Task } from "../core/task.ts";
import {
  boxSpec,
  historyOverlay,
  type PreparedEnvironment,
  withoutHistory,
} from "../services/environments/index.ts";
import { TEST_LIMITS } from "../services/grading/index.ts";
import type { ExecResult, Sandbox, SandboxRuntime, SandboxSpec } from "../services/sandbox/index.ts";

/** What one script may take; far above what any needs that does not want to harm. */
const EXEC_LIMITS = { timeoutSeconds: 60, cpuSeconds: 20, outputBytes: 2 ** 20 } as const;
const LIFETIME_MS = 300_000;

export interface Done {
  readonly exec: ExecResult;
  /** stdout and stderr. */
  readonly printed: string;
  readonly change: readonly FileChange[];
}

/** As activities/rollout.ts makes it. */
export async function agentSpec(environment: PreparedEnvironment, task: Task): Promise<SandboxSpec> {
  const overlay: FileChange[] = [
    ...task.base,
    ...task.hiddenFiles.map((path): FileChange => ({ kind: "delete", path })),
  ];
  return boxSpec(environment, {
    overlay: [...overlay, ...(await historyOverlay(environment, overlay))],
    limits: TEST_LIMITS,
  });
}

export async function withBox<T>(
  runtime: SandboxRuntime,
  spec: SandboxSpec,
  use: (box: Sandbox) => Promise<T>,
): Promise<T> {
  const fence = randomUUID();
  const identity = {
    experiment: "attacks",
    slot: `attacks/${fence}`,
    attempt: 1,
    fence,
    deadline: Date.now() + LIFETIME_MS,
  };
  const box = await runtime.create(spec, identity);
  try {
    return await use(box);
  } finally {
    await box.destroy();
  }
}

export async function bash(box: Sandbox, script: string): Promise<ExecResult> {
  return box.exec(["bash", "-c", script], EXEC_LIMITS);
}

export const printed = ({ stdout, stderr }: ExecResult): string =>
  Buffer.from(stdout).toString("utf8") + Buffer.from(stderr).toString("utf8");

/** Runs the script in a fresh box; what it left there is the change that would be graded. */
export function attempt(runtime: SandboxRuntime, spec: SandboxSpec, script: string): Promise<Done> {
  return withBox(runtime, spec, async (box) => {
    const exec = await bash(box, script);
    return { exec, printed: printed(exec), change: withoutHistory(await box.changes()) };
  });
}
