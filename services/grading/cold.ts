/** The cold runner: a fresh sandbox per run, each command in a process of its own. */
import { createHash, randomUUID } from "node:crypto";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, TestCommand } from "../../core/task.ts";
import { boxSpec } from "../environments/index.ts";
import { type Sandbox, SandboxError, type SandboxRuntime } from "../sandbox/index.ts";
import { ARTIFACT_LIMITS, type ArtifactLimits } from "./artifacts.ts";
import { CommandResults, type ReportText, stopOf } from "./command-results.ts";
import { commandsOf } from "./commands.ts";
import { boxOfImage, collectSeconds, judgeBox } from "./judge-box.ts";
import { mountsOf } from "./protect.ts";
import { hashGraded } from "./tree.ts";
import type { TestRunner, TestRunRequest, TestRunResult } from "./types.ts";
import { HELPER_LIMITS, inBox, placeFiles, splitFiles, workdirOf } from "./verifier-files.ts";

/** A sandbox whose run was lost with its process is reaped after the run's own limit and this. */
const DEADLINE_EXTRA_MS = 60_000;

export function createColdRunner(
  runtime: SandboxRuntime,
  artifactLimits: ArtifactLimits = ARTIFACT_LIMITS,
): TestRunner {
  return {
    mode: "cold",
    run: (request) => runCold(runtime, artifactLimits, request),
    forget: async () => {},
    close: async () => {},
  };
}

async function runCold(
  runtime: SandboxRuntime,
  artifactLimits: ArtifactLimits,
  request: TestRunRequest,
): Promise<TestRunResult> {
  const { environment, overlay, verifier, limits } = request;
  const treeHash = request.treeHash ?? (await hashGraded(environment, overlay));
  const files = splitFiles(verifier?.files ?? [], environment);
  const box = verifier?.box;
  const wanted = box ?? verifier?.collected;
  const seconds = request.wallSeconds + (wanted === undefined ? 0 : collectSeconds(wanted));
  const identity = () => ({
    experiment: "grading",
    slot: `grading/${createHash("sha256").update(treeHash).digest("hex").slice(0, 12)}`,
    attempt: 0,
    fence: randomUUID(),
    deadline: Date.now() + seconds * 1000 + DEADLINE_EXTRA_MS,
  });
  const boxWith = (inTree: readonly FileChange[]) =>
    runtime.create(
      boxSpec(environment, {
        overlay: composeChanges(overlay, inTree),
        mounts: mountsOf(environment, verifier),
        limits,
      }),
      identity(),
    );
  const judge = () => (box === undefined ? boxWith(files.inTree) : boxOfImage(runtime, box, identity()));
  const sandbox =
    wanted === undefined
      ? await judge()
      : await judgeBox(wanted, {
          ...(request.signal && { signal: request.signal }),
          agentBox: () => boxWith([]),
          judge,
          ...(box === undefined && { tree: workdirOf(environment) }),
          artifactLimits,
        });
  try {
    // Artifacts may be parts of the tree: what judges goes over them.
    if (verifier?.collected !== undefined) await placeFiles(sandbox, inBox(files.inTree, environment));
    await placeFiles(sandbox, files.outside);
    const results = new CommandResults({ ...request, workdir: workdirOf(environment) });
    for (const command of commandsOf(request)) {
      if (results.stoppedBy !== undefined) break;
      await removeReport(sandbox, command);
      const result = await sandbox.exec(command.argv, results.remaining(command));
      // Of a command that met a limit no report counts; one that took all memory may have taken the sandbox with it.
      const file = stopOf(result) === undefined ? await readReport(sandbox, command) : undefined;
      results.add(command, result, file);
    }
    return { ...results.result(), treeHash };
  } finally {
    await sandbox.destroy();
  }
}

/** A report that is there before its command ran is nobody's. */
async function removeReport(sandbox: Sandbox, { reportFile }: TestCommand): Promise<void> {
  if (reportFile !== null) await sandbox.exec(["rm", "-rf", "--", reportFile], HELPER_LIMITS);
}

async function readReport(sandbox: Sandbox, { reportFile }: TestCommand): Promise<ReportText | undefined> {
  if (reportFile === null) return undefined;
  try {
    return { text: Buffer.from(await sandbox.read(reportFile)).toString("utf8"), cut: false };
  } catch (error) {
    if (error instanceof SandboxError && error.kind !== "path") throw error;
    return { text: "", cut: (error as NodeJS.ErrnoException).code === "EFBIG" };
  }
}
