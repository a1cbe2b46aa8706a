/** Runs what must fail (`canary.ts`) on trees whose tests passed. */
import { createHash } from "node:crypto";
import { tookAllMemory } from "../sandbox/runtime.ts";
import { canariesOf, canaryRun, NONE, saidBy, TAMPERED, toldTheTruth } from "./canary.ts";
import type { GradingService, TestRunRequest, TestRunResult } from "./types.ts";
import type { Decision } from "./verdict.ts";

type Run = GradingService["runTests"];

/** What the run of what must fail adds to a pass. */
export interface Checked {
  /** In the place of the pass. */
  readonly decision?: Decision;
  /** Why nothing was found out. */
  readonly none?: string;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

export const unchecked = (none: string): Checked => ({ none, cpuSeconds: 0, wallSeconds: 0 });

/** Undefined for a run that took all memory: it has no more to say than one that met another limit. */
export async function unlessMemory<T>(run: Promise<T>): Promise<T | undefined> {
  try {
    return await run;
  } catch (error) {
    if (tookAllMemory(error)) return undefined;
    throw error;
  }
}

/** A machine that is busy may let a run meet its limit. */
export const TRIES = 2;

export class Canaries {
  private readonly runTests: Run;
  /** By environment: the first of its canaries of which its untouched tree says the truth, or why there is none. What a limit ended is not kept. */
  private readonly honest = new Map<string, Promise<number | string>>();

  constructor(runTests: Run) {
    this.runTests = runTests;
  }

  /** `secret` makes the canary's name. */
  async check(request: TestRunRequest, mode: "cold" | "warm", secret: string): Promise<Checked> {
    const name = createHash("sha256").update(secret).digest("hex").slice(0, 12);
    const canaries = canariesOf(request.environment, name, request.overlay);
    if (canaries.length === 0) return unchecked(NONE.noKind);
    const first = await this.firstHonest(request, mode);
    if (typeof first === "string") return unchecked(first);
    let [cpuSeconds, wallSeconds] = [0, 0];
    for (const canary of canaries.slice(first)) {
      const run = await unlessMemory(this.runTests(canaryRun(request, canary), mode));
      cpuSeconds += run?.cpuSeconds ?? 0;
      wallSeconds += run?.wallSeconds ?? 0;
      const said = run && saidBy(run);
      if (said !== undefined)
        return { ...(said === "lie" && { decision: TAMPERED }), cpuSeconds, wallSeconds };
    }
    return { none: NONE.silent, cpuSeconds, wallSeconds };
  }

  private firstHonest(request: TestRunRequest, mode: "cold" | "warm"): Promise<number | string> {
    const key = `${request.environment.key} ${request.environment.root}`;
    const known = this.honest.get(key);
    if (known !== undefined) return known;
    const found = this.askUntouched(request, mode);
    this.honest.set(key, found);
    found.then(
      (first) => first === NONE.lost && this.honest.delete(key),
      () => this.honest.delete(key),
    );
    return found;
  }

  private async askUntouched(request: TestRunRequest, mode: "cold" | "warm"): Promise<number | string> {
    const { signal: _, treeHash: __, ...rest } = request;
    let wasLost = false;
    for (const [index, canary] of canariesOf(request.environment, "untouched").entries()) {
      let run: TestRunResult | undefined;
      for (let tries = 0; tries < TRIES && run?.ended !== true; tries++)
        run = await unlessMemory(this.runTests(canaryRun({ ...rest, overlay: [] }, canary), mode));
      if (run?.ended && toldTheTruth(run)) return index;
      wasLost ||= run?.ended !== true;
    }
    return wasLost ? NONE.lost : NONE.dishonest;
  }

  forget(environmentKey: string): void {
    for (const key of this.honest.keys()) if (key.startsWith(`${environmentKey} `)) this.honest.delete(key);
  }
}
