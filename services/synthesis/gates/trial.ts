/** One validation: what the gates are given, what they ask of the grader, and what they leave for the gates after them. */
import { composeChanges } from "../../../core/changes.ts";
import type { FileChange, StatusMap, Task, Verdict, Verifier } from "../../../core/task.ts";
import type { PreparedEnvironment } from "../../environments/types.ts";
import { type GradingService, limitsOf, type TestRunResult, verifierLimits } from "../../grading/index.ts";
import type { Reproducer } from "../reproduce.ts";
import {
  type Candidate,
  type GateName,
  type GateVerdict,
  SynthesisError,
  type ValidateOptions,
} from "../types.ts";
import { verifierOf } from "../verifier.ts";

export interface ValidatorParts {
  readonly grading: GradingService;
  readonly reproducer: Reproducer;
  readonly mode: "cold" | "warm";
}

/** Passes by returning; a gate notes its evidence with `trial.pass` and refuses by throwing `Refused`. */
export type Gate = (trial: Trial) => Promise<void> | void;

export class Refused extends Error {
  readonly verdict: GateVerdict;
  constructor(gate: GateName, evidence: string) {
    super(evidence);
    this.verdict = { gate, passed: false, evidence };
  }
}

export class Trial {
  readonly verdicts: GateVerdict[] = [];
  readonly environment: PreparedEnvironment;
  readonly candidate: Candidate;
  readonly options: ValidateOptions;
  readonly parts: ValidatorParts;
  /** Statuses of each run of the base tree so far. */
  readonly baseRuns: StatusMap[] = [];
  /** The same of the solved tree, where it is not the environment's snapshot. */
  readonly solvedRuns: StatusMap[] = [];
  /** What the runs of the solved tree printed. */
  readonly notes: string[] = [];
  /** Undefined = the environment's own tests judge; the gate `build` refuses what has none that can run. */
  readonly verifier: Verifier | { readonly none: string } | undefined;
  private made: Task | undefined;

  constructor(
    parts: ValidatorParts,
    environment: PreparedEnvironment,
    candidate: Candidate,
    options: ValidateOptions,
  ) {
    this.parts = parts;
    this.environment = environment;
    this.candidate = candidate;
    this.options = options;
    this.verifier = verifierOf(environment, candidate);
  }

  /** Whether the candidate's own tests or check judge; its gold then need not restore the snapshot. */
  get judgesItself(): boolean {
    return this.verifier !== undefined;
  }

  get solved(): readonly FileChange[] {
    return composeChanges(this.candidate.base, this.candidate.gold);
  }

  /** From the gate `fail-to-pass` on; `reproduction` completes its facts. */
  get task(): Task {
    if (this.made === undefined) throw new Error("a gate asked for the task before its tests were split");
    return this.made;
  }

  set task(task: Task) {
    this.made = task;
  }

  pass(gate: GateName, evidence: string): void {
    this.verdicts.push({ gate, passed: true, evidence });
  }

  run(overlay: readonly FileChange[]): Promise<TestRunResult> {
    const { environment } = this;
    const request = { environment, overlay, ...this.judge(), ...this.signal() };
    return this.parts.grading.runTests(request, this.parts.mode);
  }

  async grade(task: Task, change: readonly FileChange[]): Promise<Verdict> {
    const { environment } = this;
    const request = { environment, task, change, mode: this.parts.mode, reuse: false, ...this.signal() };
    const verdict = await this.parts.grading.grade(request);
    if (verdict.outcome === "infrastructure")
      throw new SynthesisError("infrastructure", `grading was lost: ${verdict.offending.join("; ")}`);
    return verdict;
  }

  /** The limits are those of grading. */
  private judge() {
    const { environment, verifier } = this;
    if (verifier === undefined) return limitsOf(environment);
    if ("none" in verifier) throw new Error(`a gate ran tests that cannot be run: ${verifier.none}`);
    return { verifier, ...verifierLimits(environment, verifier) };
  }

  private signal(): { readonly signal?: AbortSignal } {
    const { signal } = this.options;
    if (signal?.aborted) throw new SynthesisError("cancelled", "validation was cancelled");
    return signal === undefined ? {} : { signal };
  }
}

export function several(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
