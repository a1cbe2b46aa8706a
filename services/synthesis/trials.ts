/** Trials: recorded test runs, batches of calls and single commands on a tree of an environment, each in a fresh sandbox. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { FileChange } from "../../core/task.ts";
import { modulesMount } from "../environments/index.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { parseTap } from "../grading/index.ts";
import type { ExecResult, Sandbox, SandboxLimits, SandboxRuntime } from "../sandbox/runtime.ts";
import { type Recording, readNotes } from "./recording.ts";
import { batchScript, readBatch } from "./reproduction.ts";

/** Where the preload lies in a recorded run's sandbox, and where it leaves its notes. */
const PRELOAD = {
  source: fileURLToPath(new URL("./recorder.cjs", import.meta.url)),
  target: "/recorder.cjs",
};
const NOTES = "/tmp/recorder.jsonl";
/** CPU seconds of a recorded run: that of an untouched run, tenfold, for the notes are not free. */
const recordingSeconds = (environment: PreparedEnvironment) => 10 + 10 * environment.cpuSeconds;
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

async function inSandbox<T>(
  { runtime, limits }: TrialParts,
  { environment, overlay, mounts = [] }: TrialRequest,
  use: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const fence = randomUUID();
  const sandbox = await runtime.create(
    {
      root: environment.root,
      overlay,
      mounts: [modulesMount(environment), ...mounts],
      limits,
      env: {},
    },
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

function limited(cpuSeconds: number, signal: AbortSignal | undefined) {
  const limits = { timeoutSeconds: WALL_SECONDS, cpuSeconds, outputBytes: OUTPUT_BYTES };
  return signal === undefined ? limits : { ...limits, signal };
}

/** Runs one test file with the recorder; empty where the recorder found nothing to hook. */
export async function record(parts: TrialParts, request: TrialRequest, testFile: string): Promise<Recording> {
  return inSandbox(parts, { ...request, mounts: [PRELOAD] }, async (sandbox) => {
    const settings = { root: sandbox.workdir, tests: request.environment.entry.tests, out: NOTES };
    const argv = ["env", `TADPOLE_RECORD=${JSON.stringify(settings)}`, "node"];
    const result = await sandbox.exec(
      [...argv, "--require", PRELOAD.target, testFile],
      limited(recordingSeconds(request.environment), request.signal),
    );
    const notes = await sandbox.read(NOTES).catch(() => new Uint8Array());
    const { statuses } = parseTap(Buffer.from(result.stdout).toString("utf8"), testFile);
    return readNotes(Buffer.from(notes).toString("utf8"), Object.keys(statuses));
  });
}

/** What each call prints on the tree; undefined for one that does not end, and for those after it. */
export async function tryCalls(
  parts: TrialParts,
  request: TrialRequest,
  calls: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const result = await inSandbox(parts, request, (sandbox) =>
    sandbox.exec(["node", "-e", batchScript(calls)], limited(CALL_SECONDS, request.signal)),
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
