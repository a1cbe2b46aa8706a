/** Runs what must fail (`canary.ts`) on trees whose tests passed. */
import { createHash } from "node:crypto";
import { canaryOf, canaryRun, toldTheTruth } from "./canary.ts";
import type { GradingService, TestRunRequest, TestRunResult } from "./types.ts";
import { type Decision, decide } from "./verdict.ts";

type Run = GradingService["runTests"];

export class Canaries {
  private readonly runTests: Run;
  /** By environment: whether its untouched tree says the truth. Where it does not, the canary proves nothing. */
  private readonly honest = new Map<string, Promise<boolean>>();

  constructor(runTests: Run) {
    this.runTests = runTests;
  }

  /** Undefined where there is no canary. `secret` makes its name. */
  async check(
    request: TestRunRequest,
    mode: "cold" | "warm",
    secret: string,
  ): Promise<
    { readonly decision?: Decision; readonly cpuSeconds: number; readonly wallSeconds: number } | undefined
  > {
    const name = createHash("sha256").update(secret).digest("hex").slice(0, 12);
    const canary = canaryOf(request.environment, name);
    if (canary === undefined || !(await this.isHonest(request, mode))) return undefined;
    const run = await this.runTests(canaryRun(request, canary), mode);
    const { cpuSeconds, wallSeconds } = run;
    return { ...lieIn(run), cpuSeconds, wallSeconds };
  }

  private isHonest(request: TestRunRequest, mode: "cold" | "warm"): Promise<boolean> {
    const key = `${request.environment.key} ${request.environment.root}`;
    const known = this.honest.get(key);
    if (known !== undefined) return known;
    const { signal: _, ...rest } = request;
    const canary = canaryOf(request.environment, "untouched")!;
    const found = this.runTests(canaryRun({ ...rest, overlay: [] }, canary), mode).then(toldTheTruth);
    this.honest.set(key, found);
    found.catch(() => this.honest.delete(key));
    return found;
  }

  forget(environmentKey: string): void {
    for (const key of this.honest.keys()) if (key.startsWith(`${environmentKey} `)) this.honest.delete(key);
  }
}

export const TAMPERED: Decision = { outcome: "failed", rule: "harness-tampered", offending: [] };

/** What a canary's run says of a tree whose tests passed; nothing where it told the truth. */
export function lieIn(run: Omit<TestRunResult, "treeHash">): { readonly decision?: Decision } {
  // What loads within a limit among the tests, and not among things that are false, has looked at which they are.
  if (!run.ended) return { decision: decide({ failToPass: [], passToPass: [] }, run) };
  return toldTheTruth(run) ? {} : { decision: TAMPERED };
}
