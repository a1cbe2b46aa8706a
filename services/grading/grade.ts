/** The grading service: the agent's change on the task's base, tests put back, the one rule applied. */
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, Verdict } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { SandboxError, type SandboxRuntime } from "../sandbox/index.ts";
import type { ArtifactLimits } from "./artifacts.ts";
import { Canaries, type Checked } from "./canaries.ts";
import { createColdRunner } from "./cold.ts";
import { evidenceKey, evidenceOf } from "./evidence.ts";
import { limitsOf, verifierLimits } from "./limits.ts";
import { withoutProtected } from "./protect.ts";
import { hashGraded } from "./tree.ts";
import type { GradeRequest, GradingService, TestRunner, TestRunRequest } from "./types.ts";
import { type Decision, decide, toleratedFailures } from "./verdict.ts";
import { VerifierCanaries } from "./verifier-canaries.ts";
import { createWarmRunner } from "./warm.ts";

export interface GradingOptions {
  readonly runtime: SandboxRuntime;
  /** Verdicts kept for re-use; the least recently used go first. */
  readonly cacheSize?: number;
  /** Of what is collected for a verifier; default `ARTIFACT_LIMITS`. */
  readonly artifactLimits?: ArtifactLimits;
}

const DEFAULT_CACHE_SIZE = 4096;

/** Of all commands' output together, for people who look at a verdict. */
const LOG_CHARACTERS = 64 * 1024;

export function createGrading(options: GradingOptions): GradingService {
  const cold = createColdRunner(options.runtime, options.artifactLimits);
  const warm = createWarmRunner({ runtime: options.runtime, cold });
  const runners: Record<"cold" | "warm", TestRunner> = { cold, warm };
  const cache = new VerdictCache(options.cacheSize ?? DEFAULT_CACHE_SIZE);
  const run: Run = (request, mode) => runners[mode].run(request);
  const canaries = new Canaries(run);
  const verifierCanaries = new VerifierCanaries(run);
  const mustFail: MustFail = (request, testRun, key) =>
    request.task.verifier === undefined
      ? canaries.check(testRun, request.mode, key)
      : verifierCanaries.check(
          testRun,
          request.task,
          gradedOverlay({ ...request, change: request.task.gold }),
        );
  return {
    // Where a verifier judges, the tree's own tests are the overlay's business, as they are of a task's base.
    runTests: (request, mode) =>
      run(
        request.verifier === undefined
          ? { ...request, overlay: withoutProtected(request.overlay, request) }
          : request,
        mode,
      ),
    grade: (request) => grade(request, run, cache, mustFail),
    forget: async (environmentKey) => {
      cache.forget(`${environmentKey} `);
      for (const kind of [canaries, verifierCanaries]) kind.forget(environmentKey);
      await Promise.all(Object.values(runners).map((runner) => runner.forget(environmentKey)));
    },
    close: async () => {
      await Promise.all(Object.values(runners).map((runner) => runner.close()));
    },
  };
}

/** Its overlay is the tree's: nothing is left out any more. */
type Run = GradingService["runTests"];

/** What must fail, run on a tree that passed. `secret` makes its name. */
type MustFail = (request: GradeRequest, testRun: TestRunRequest, secret: string) => Promise<Checked>;

async function grade(
  request: GradeRequest,
  runTests: Run,
  cache: VerdictCache,
  mustFail: MustFail,
): Promise<Verdict> {
  const { environment, task, mode } = request;
  const started = performance.now();
  let treeHash = "";
  try {
    const overlay = gradedOverlay(request);
    treeHash = await hashGraded(environment, overlay);
    const evidence = evidenceOf(task, treeHash);
    const key = `${environment.key} ${evidenceKey(evidence)}`;
    const mayReuse = request.reuse && !hasFlakySign(environment);
    const known = mayReuse ? cache.get(key) : undefined;
    if (known !== undefined) return { ...known, mode: "reused" };
    const testRun: TestRunRequest = {
      environment,
      overlay,
      ...(task.verifier && { verifier: task.verifier }),
      ...(task.verifier ? verifierLimits(environment, task.verifier) : limitsOf(environment)),
      ...(request.signal && { signal: request.signal }),
    };
    const run = await runTests({ ...testRun, treeHash }, mode);
    const decision = decide(task, run, toleratedFailures(environment));
    const checked = decision.outcome === "passed" ? await beside(mustFail(request, testRun, key)) : undefined;
    const verdict = {
      ...(checked?.decision ?? decision),
      statuses: run.report.statuses,
      treeHash,
      evidence,
      cpuSeconds: run.cpuSeconds + (checked?.cpuSeconds ?? 0),
      wallSeconds: run.wallSeconds + (checked?.wallSeconds ?? 0),
      mode,
    } satisfies Verdict;
    // Thousands are kept: without the log, which is far larger than the rest.
    cache.set(key, verdict);
    const none = checked?.none === undefined ? "" : `\n=== no canary\n${checked.none}\n`;
    return { ...verdict, log: run.log.slice(0, LOG_CHARACTERS) + none };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const wallSeconds = (performance.now() - started) / 1000;
    const evidence = evidenceOf(task, treeHash);
    return { ...decisionOf(error), statuses: {}, treeHash, evidence, cpuSeconds: 0, wallSeconds, mode };
  }
}

/** The agent's tree has just been judged: one that cannot be made now is the reference solution's or the untouched one, and says nothing of the agent. */
async function beside<T>(run: Promise<T>): Promise<T> {
  try {
    return await run;
  } catch (error) {
    if (!(error instanceof SandboxError) || error.kind !== "path") throw error;
    throw new SandboxError("boot", `of what must fail: ${error.message}`, { cause: error });
  }
}

/** sha256 (hex) of the tree that a change is graded in. Throws SandboxError `path` for one that does not apply. */
export async function gradedTreeHash(
  request: Pick<GradeRequest, "environment" | "task" | "change">,
): Promise<string> {
  return hashGraded(request.environment, gradedOverlay(request));
}

/**
 * The base is the task's own: what it changes is in the tree whatever it is; only the agent's part is filtered. Where the environment's
 * tests judge they are mounted, so that the tree below a mount is the environment's.
 */
function gradedOverlay({
  environment,
  task,
  change,
}: Pick<GradeRequest, "environment" | "task" | "change">): FileChange[] {
  const overlay = composeChanges(task.base, withoutProtected(change, { environment, task }));
  return task.verifier === undefined ? withoutProtected(overlay, { environment, task }) : overlay;
}

/**
 * A tree's second run may say something else than its first: its verdict is not taken for another's. A task whose own runs disagreed is
 * never admitted (the gate `stability`).
 */
const hasFlakySign = ({ unstable }: Pick<PreparedEnvironment, "unstable">): boolean => unstable.length > 0;

function decisionOf(error: SandboxError): Decision {
  if (error.kind === "path")
    return { outcome: "failed", rule: "patch-does-not-apply", offending: [error.message] };
  // The tested code's own doing: otherwise a change that fails could erase its verdict.
  if (error.outOfMemory) return { outcome: "failed", rule: "killed", offending: [error.message] };
  return {
    outcome: "infrastructure",
    rule: "infrastructure",
    offending: [`${error.kind}: ${error.message}`],
  };
}

class VerdictCache {
  private readonly size: number;
  private readonly verdicts = new Map<string, Verdict>();

  constructor(size: number) {
    this.size = size;
  }

  get(key: string): Verdict | undefined {
    const verdict = this.verdicts.get(key);
    if (verdict === undefined) return undefined;
    this.verdicts.delete(key);
    this.verdicts.set(key, verdict);
    return verdict;
  }

  forget(prefix: string): void {
    for (const key of this.verdicts.keys()) if (key.startsWith(prefix)) this.verdicts.delete(key);
  }

  set(key: string, verdict: Verdict): void {
    this.verdicts.set(key, verdict);
    if (this.verdicts.size > this.size) this.verdicts.delete(this.verdicts.keys().next().value!);
  }
}
