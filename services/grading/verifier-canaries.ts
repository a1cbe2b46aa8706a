/** Runs a verifier with its tests made to fail (`failing-tests.ts`) on trees that it passed. */
import type { FileChange, Task } from "../../core/task.ts";
import { type Checked, TRIES, unchecked, unlessMemory } from "./canaries.ts";
import { NONE, TAMPERED } from "./canary.ts";
import { taskHash } from "./evidence.ts";
import { failingVerifier, judgedNames, passedOf } from "./failing-tests.ts";
import type { GradingService, TestRunRequest, TestRunResult } from "./types.ts";

type Run = GradingService["runTests"];

/** The same words of a reference solution. */
const REFERENCE_PASSES = "the reference solution does not fail it";
const REFERENCE_LOST = "with the reference solution it met a limit, twice";

export class VerifierCanaries {
  private readonly runTests: Run;
  /**
   * By environment and task: undefined where the reference solution fails it, as every tree must; else why there is none. Where it passes, the tests
   * that judge are elsewhere. What a limit ended is not kept.
   */
  private readonly honest = new Map<string, Promise<string | undefined>>();

  constructor(runTests: Run) {
    this.runTests = runTests;
  }

  /** `reference`: the overlay of the task's solution. */
  async check(request: TestRunRequest, task: Task, reference: readonly FileChange[]): Promise<Checked> {
    const verifier = request.verifier && failingVerifier(request.verifier);
    const names = judgedNames(task);
    if (verifier === undefined || task.gold.length === 0 || names.length === 0) return unchecked(NONE.noKind);
    const { signal: _, treeHash: __, ...rest } = request;
    const whyNot = () => this.whyNot({ ...rest, verifier, overlay: reference }, task, names);
    const before = await whyNot();
    if (before !== undefined) return unchecked(before);
    const run = await unlessMemory(this.runTests({ ...request, verifier }, "cold"));
    const { cpuSeconds, wallSeconds } = run ?? unchecked(NONE.silent);
    if (run?.ended !== true) return { none: NONE.silent, cpuSeconds, wallSeconds };
    const lies = passedOf(names, run.report.statuses);
    if (lies.length === 0) return { cpuSeconds, wallSeconds };
    // A test that failed by chance in the reference's run would accuse whoever passes it: it has to fail again.
    this.honest.delete(keyOf(request, task));
    const after = await whyNot();
    if (after !== undefined) return { none: after, cpuSeconds, wallSeconds };
    return { decision: { ...TAMPERED, offending: lies.slice(0, 1) }, cpuSeconds, wallSeconds };
  }

  private whyNot(request: TestRunRequest, task: Task, names: readonly string[]): Promise<string | undefined> {
    const key = keyOf(request, task);
    const known = this.honest.get(key);
    if (known !== undefined) return known;
    const found = this.askReference(request, names);
    this.honest.set(key, found);
    found.then(
      (why) => why === REFERENCE_LOST && this.honest.delete(key),
      () => this.honest.delete(key),
    );
    return found;
  }

  private async askReference(request: TestRunRequest, names: readonly string[]): Promise<string | undefined> {
    let run: TestRunResult | undefined;
    for (let tries = 0; tries < TRIES && run?.ended !== true; tries++)
      run = await unlessMemory(this.runTests(request, "cold"));
    if (run?.ended !== true) return REFERENCE_LOST;
    return passedOf(names, run.report.statuses).length === 0 ? undefined : REFERENCE_PASSES;
  }

  forget(environmentKey: string): void {
    for (const key of this.honest.keys()) if (key.startsWith(`${environmentKey} `)) this.honest.delete(key);
  }
}

const keyOf = ({ environment }: Pick<TestRunRequest, "environment">, task: Task): string =>
  `${environment.key} ${environment.root} ${taskHash(task)}`;
