/** Runs a verifier with its tests made to fail (`failing-tests.ts`) on trees that it passed. */
import type { FileChange, Task } from "../../core/task.ts";
import { TAMPERED } from "./canaries.ts";
import { taskHash } from "./evidence.ts";
import { failingVerifier, judgedNames, passedOf } from "./failing-tests.ts";
import type { GradingService, TestRunRequest, TestRunResult } from "./types.ts";
import { type Decision, decide } from "./verdict.ts";

type Run = GradingService["runTests"];

interface Checked {
  readonly decision?: Decision;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

export class VerifierCanaries {
  private readonly runTests: Run;
  /** By environment and task: whether the reference solution fails it, as every tree must. Where it passes, the tests that judge are elsewhere. */
  private readonly honest = new Map<string, Promise<boolean>>();

  constructor(runTests: Run) {
    this.runTests = runTests;
  }

  /** Undefined where there is none. `reference`: the overlay of the task's solution. */
  async check(
    request: TestRunRequest,
    task: Task,
    reference: readonly FileChange[],
  ): Promise<Checked | undefined> {
    const verifier = request.verifier && failingVerifier(request.verifier);
    const names = judgedNames(task);
    if (verifier === undefined || task.gold.length === 0 || names.length === 0) return undefined;
    const { signal: _, ...rest } = request;
    const isHonest = () => this.isHonest({ ...rest, verifier, overlay: reference }, task, names);
    if (!(await isHonest())) return undefined;
    const run = await this.runTests({ ...request, verifier }, "cold");
    const { cpuSeconds, wallSeconds } = run;
    const decision = lieIn(run, names);
    // A test that failed by chance in the reference's run would accuse whoever passes it: it has to fail again.
    if (decision !== undefined) {
      this.honest.delete(keyOf(request, task));
      if (!(await isHonest())) return undefined;
    }
    return { ...(decision && { decision }), cpuSeconds, wallSeconds };
  }

  private isHonest(request: TestRunRequest, task: Task, names: readonly string[]): Promise<boolean> {
    const key = keyOf(request, task);
    const known = this.honest.get(key);
    if (known !== undefined) return known;
    const found = this.runTests(request, "cold").then(
      (run) => run.ended && passedOf(names, run.report.statuses).length === 0,
    );
    this.honest.set(key, found);
    found.catch(() => this.honest.delete(key));
    return found;
  }

  forget(environmentKey: string): void {
    for (const key of this.honest.keys()) if (key.startsWith(`${environmentKey} `)) this.honest.delete(key);
  }
}

const keyOf = ({ environment }: Pick<TestRunRequest, "environment">, task: Task): string =>
  `${environment.key} ${environment.root} ${taskHash(task)}`;

function lieIn(run: TestRunResult, names: readonly string[]): Decision | undefined {
  // What loads within a limit among the tests, and not among those that fail, has looked at which they are.
  if (!run.ended) return decide({ failToPass: [], passToPass: [] }, run);
  const lies = passedOf(names, run.report.statuses);
  return lies.length > 0 ? { ...TAMPERED, offending: lies.slice(0, 1) } : undefined;
}
