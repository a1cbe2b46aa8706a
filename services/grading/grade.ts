/** The grading service: the agent's change on the task's base, tests put back, the one rule applied. */
import type { FileChange, Verdict } from "../../core/task.ts";
import { hashManifest, SandboxError, type SandboxRuntime } from "../sandbox/index.ts";
import { createColdRunner } from "./cold.ts";
import { limitsOf, verifierLimits } from "./limits.ts";
import { withoutProtected } from "./protect.ts";
import { composeChanges, gradedManifest } from "./tree.ts";
import type { GradeRequest, GradingService, TestRunner } from "./types.ts";
import { type Decision, decide } from "./verdict.ts";
import { createWarmRunner } from "./warm.ts";

export interface GradingOptions {
  readonly runtime: SandboxRuntime;
  /** Verdicts kept for re-use; the least recently used go first. */
  readonly cacheSize?: number;
}

const DEFAULT_CACHE_SIZE = 4096;

export function createGrading(options: GradingOptions): GradingService {
  const cold = createColdRunner(options.runtime);
  const warm = createWarmRunner({ runtime: options.runtime, cold });
  const runners: Record<"cold" | "warm", TestRunner> = { cold, warm };
  const cache = new VerdictCache(options.cacheSize ?? DEFAULT_CACHE_SIZE);
  const run: Run = (request, mode) => runners[mode].run(request);
  return {
    runTests: (request, mode) =>
      run({ ...request, overlay: withoutProtected(request.overlay, request) }, mode),
    grade: (request) => grade(request, run, cache),
    forget: async (environmentKey) => {
      cache.forget(`${environmentKey} `);
      await Promise.all(Object.values(runners).map((runner) => runner.forget(environmentKey)));
    },
    close: async () => {
      await Promise.all(Object.values(runners).map((runner) => runner.close()));
    },
  };
}

/** Its overlay is the tree's: nothing is left out any more. */
type Run = GradingService["runTests"];

async function grade(request: GradeRequest, runTests: Run, cache: VerdictCache): Promise<Verdict> {
  const { environment, task, mode } = request;
  const started = performance.now();
  let treeHash = "";
  try {
    const overlay = gradedOverlay(request);
    treeHash = hashManifest(await gradedManifest(environment, overlay));
    const key = `${environment.key} ${task.id} ${treeHash}`;
    const known = request.reuse ? cache.get(key) : undefined;
    if (known !== undefined) return { ...known, mode: "reused" };
    const run = await runTests(
      {
        environment,
        overlay,
        ...(task.verifier && { verifier: task.verifier }),
        ...(task.verifier ? verifierLimits(environment, task.verifier) : limitsOf(environment)),
        ...(request.signal && { signal: request.signal }),
      },
      mode,
    );
    const verdict: Verdict = {
      ...decide(task, run, environment.unstable),
      statuses: run.report.statuses,
      treeHash,
      cpuSeconds: run.cpuSeconds,
      wallSeconds: run.wallSeconds,
      mode,
    };
    cache.set(key, verdict);
    return verdict;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const wallSeconds = (performance.now() - started) / 1000;
    return { ...decisionOf(error), statuses: {}, treeHash, cpuSeconds: 0, wallSeconds, mode };
  }
}

/**
 * The base is the task's own: what it changes is in the tree whatever it is; only the agent's part is filtered. Where the environment's
 * tests judge they are mounted, so that the tree below a mount is the environment's.
 */
function gradedOverlay({ environment, task, change }: GradeRequest): FileChange[] {
  const overlay = composeChanges(task.base, withoutProtected(change, { environment, task }));
  return task.verifier === undefined ? withoutProtected(overlay, { environment, task }) : overlay;
}

function decisionOf(error: SandboxError): Decision {
  if (error.kind === "path")
    return { outcome: "failed", rule: "patch-does-not-apply", offending: [error.message] };
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
