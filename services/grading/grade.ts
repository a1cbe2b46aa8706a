/** The grading service: the agent's change on the task's base, tests put back, the one rule applied. */
import type { FileChange, Verdict } from "../../core/task.ts";
import { hashManifest, SandboxError, type SandboxRuntime } from "../sandbox/index.ts";
import { createColdRunner } from "./cold.ts";
import { limitsOf } from "./limits.ts";
import { withoutProtected } from "./protect.ts";
import { gradedManifest } from "./tree.ts";
import type { GradeRequest, GradingService, TestRunner, TestRunRequest } from "./types.ts";
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
  const runTests = (request: TestRunRequest, mode: "cold" | "warm") => runners[mode].run(request);
  return {
    runTests,
    grade: (request) => grade(request, runTests, cache),
    forget: async (environmentKey) => {
      cache.forget(`${environmentKey} `);
      await Promise.all(Object.values(runners).map((runner) => runner.forget(environmentKey)));
    },
    close: async () => {
      await Promise.all(Object.values(runners).map((runner) => runner.close()));
    },
  };
}

async function grade(
  request: GradeRequest,
  runTests: GradingService["runTests"],
  cache: VerdictCache,
): Promise<Verdict> {
  const { environment, task, mode } = request;
  const started = performance.now();
  let treeHash = "";
  try {
    // The base is the task's own: what it changes is in the tree whatever it is; only the agent's part is filtered.
    const overlay = composeChanges(task.base, withoutProtected(request.change, environment.entry));
    treeHash = hashManifest(await gradedManifest(environment, withoutProtected(overlay, environment.entry)));
    const key = `${environment.key} ${task.id} ${treeHash}`;
    const known = request.reuse ? cache.get(key) : undefined;
    if (known !== undefined) return { ...known, mode: "reused" };
    const run = await runTests(
      { environment, overlay, ...limitsOf(environment), ...(request.signal && { signal: request.signal }) },
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

/** Two changes, one after the other, as one: the later change of a path wins. */
export function composeChanges(first: readonly FileChange[], then: readonly FileChange[]): FileChange[] {
  const byPath = new Map([...first, ...then].map((change) => [change.path, change]));
  return [...byPath.values()];
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
