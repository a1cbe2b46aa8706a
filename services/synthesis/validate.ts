/** The gates between a candidate and a task, cheapest first; the first that fails ends it. Each leaves a verdict with its evidence. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, StatementLevel, StatusMap, Task, Verdict } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { type GradingService, limitsOf, type TestRunResult } from "../grading/index.ts";
import { parses } from "../javascript/index.ts";
import { taskId, textsOf } from "./changes.ts";
import { answersElsewhere, findLeaks } from "./leaks.ts";
import type { Reproducer } from "./reproduce.ts";
import { writeStatement } from "./statement.ts";
import {
  type Candidate,
  type GateName,
  type GateVerdict,
  SynthesisError,
  type ValidateOptions,
  type ValidationResult,
} from "./types.ts";

export interface ValidatorParts {
  readonly grading: GradingService;
  readonly reproducer: Reproducer;
  readonly mode: "cold" | "warm";
}

const LEVELS: readonly StatementLevel[] = [0, 1, 2, 3];

class GateFailed extends Error {
  readonly verdict: GateVerdict;
  constructor(gate: GateName, evidence: string) {
    super(evidence);
    this.verdict = { gate, passed: false, evidence };
  }
}

/** Tests that a mutation broke and tests that it left alone, of those that are stable, in the baseline's order. */
export function splitTests(
  baseline: StatusMap,
  statuses: StatusMap,
  unstable: readonly string[],
): { readonly failToPass: string[]; readonly passToPass: string[] } {
  const skip = new Set(unstable);
  const passing = Object.keys(baseline).filter((name) => baseline[name] === "passed" && !skip.has(name));
  return {
    failToPass: passing.filter((name) => statuses[name] !== "passed"),
    passToPass: passing.filter((name) => statuses[name] === "passed"),
  };
}

/** Test files that hold a fail-to-pass test, in the catalogue's order. */
export function filesOf(tests: readonly string[], failToPass: readonly string[]): string[] {
  return tests.filter((file) => failToPass.some((name) => name.startsWith(`${file} > `)));
}

function several(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** One validation: the gates share the candidate, its first run and the growing list of verdicts. */
class Validation {
  readonly gates: GateVerdict[] = [];
  private readonly parts: ValidatorParts;
  private readonly environment: PreparedEnvironment;
  private readonly candidate: Candidate;
  private readonly options: ValidateOptions;

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
  }

  private pass(gate: GateName, evidence: string): void {
    this.gates.push({ gate, passed: true, evidence });
  }

  private run(overlay: readonly FileChange[]): Promise<TestRunResult> {
    const { environment, options } = this;
    if (options.signal?.aborted) throw new SynthesisError("cancelled", "validation was cancelled");
    const request = { environment, overlay, ...limitsOf(environment) };
    return this.parts.grading.runTests(
      options.signal === undefined ? request : { ...request, signal: options.signal },
      this.parts.mode,
    );
  }

  private async grade(task: Task, change: readonly FileChange[]): Promise<Verdict> {
    const { environment, options } = this;
    if (options.signal?.aborted) throw new SynthesisError("cancelled", "validation was cancelled");
    const request = { environment, task, change, mode: this.parts.mode, reuse: false };
    const verdict = await this.parts.grading.grade(
      options.signal === undefined ? request : { ...request, signal: options.signal },
    );
    if (verdict.outcome === "infrastructure")
      throw new SynthesisError("infrastructure", `grading was lost: ${verdict.offending.join("; ")}`);
    return verdict;
  }

  async all(): Promise<Task> {
    this.build();
    const first = await this.run(this.candidate.base);
    this.ends(first);
    const untold = await this.failToPass(first);
    const verdict = await this.noOp(untold);
    await this.gold(untold);
    await this.stability(untold, [first.report.statuses, verdict.statuses]);
    const task = await this.reproduction(untold);
    this.leak(task);
    return task;
  }

  private build(): void {
    const { base, gold, parts } = this.candidate;
    const { root } = this.environment;
    for (const [file, text] of textsOf(base))
      if (!parses(text)) throw new GateFailed("build", `${file} does not parse`);
    for (const [file, text] of textsOf(composeChanges(base, gold)))
      if (text !== readFileSync(join(root, file), "utf8"))
        throw new GateFailed("gold", `gold does not restore ${file} of the snapshot`);
    const answers = answersElsewhere(root, parts ?? [base], gold);
    if (answers.length > 0)
      throw new GateFailed("leak", `the lines before the change stand in ${answers.join(", ")} too`);
  }

  private ends(first: TestRunResult): void {
    if (!first.ended)
      throw new GateFailed(
        "ends",
        `the tests do not end: stopped by the limit of ${first.stoppedBy ?? "time"} (${limitsOf(this.environment).cpuSeconds.toFixed(1)} CPU seconds)`,
      );
    if (Object.keys(first.report.statuses).length === 0)
      throw new GateFailed("build", "no test file reaches an assertion: the package does not load");
    this.pass("build", "parses, and the tests load it");
    this.pass("ends", `${first.cpuSeconds.toFixed(2)} CPU seconds`);
  }

  private async failToPass(first: TestRunResult): Promise<Task> {
    const { environment, candidate } = this;
    const { baseline, unstable, entry } = environment;
    const { failToPass, passToPass } = splitTests(baseline, first.report.statuses, unstable);
    if (failToPass.length === 0) throw new GateFailed("fail-to-pass", "every test still passes");
    for (const [i, part] of (candidate.parts ?? []).entries()) {
      const alone = await this.run(part);
      if (splitTests(baseline, alone.report.statuses, unstable).failToPass.length === 0)
        throw new GateFailed("fail-to-pass", `every test still passes with change ${i + 1} alone`);
    }
    this.pass(
      "fail-to-pass",
      `${several(failToPass.length, "test")} to fix, ${several(passToPass.length, "test")} to keep`,
    );
    const { type, generator, base, gold, functions, sites } = candidate;
    const task = {
      environment: environment.key,
      type,
      generator,
      base,
      gold,
      hiddenFiles: filesOf(entry.tests, failToPass),
      failToPass,
      passToPass,
      functions,
    };
    return { id: taskId(task), ...task, facts: { sites, reproduction: null } };
  }

  private async noOp(task: Task): Promise<Verdict> {
    const verdict = await this.grade(task, []);
    if (verdict.outcome !== "failed") throw new GateFailed("no-op", "doing nothing passes");
    this.pass("no-op", `doing nothing fails by ${verdict.rule}`);
    return verdict;
  }

  private async gold(task: Task): Promise<void> {
    const verdict = await this.grade(task, task.gold);
    if (verdict.outcome !== "passed")
      throw new GateFailed("gold", `fails by ${verdict.rule}: ${verdict.offending.slice(0, 3).join("; ")}`);
    this.pass(
      "gold",
      `restores the snapshot and passes ${several(task.failToPass.length + task.passToPass.length, "test")}`,
    );
  }

  /** The first run and the no-op verdict are runs of the same tree; the solved tree's are the environment's own baseline. */
  private async stability(task: Task, seen: readonly StatusMap[]): Promise<void> {
    const runs = [...seen];
    while (runs.length < this.options.stabilityRuns) runs.push((await this.run(task.base)).report.statuses);
    const names = [...task.failToPass, ...task.passToPass];
    const differs = names.find((name) =>
      runs.some((statuses) => (statuses[name] === "passed") !== (seen[0]![name] === "passed")),
    );
    if (differs !== undefined) throw new GateFailed("stability", `differs between runs: ${differs}`);
    this.pass("stability", `${runs.length} runs of the base tree agree`);
  }

  private async reproduction(task: Task): Promise<Task> {
    const { environment, candidate } = this;
    const { failToPass, hiddenFiles } = task;
    const { signal } = this.options;
    const found = await this.parts.reproducer.find({
      environment,
      candidate,
      failToPass,
      hiddenFiles,
      signal,
    });
    if ("none" in found) throw new GateFailed("reproduction", found.none);
    this.pass("reproduction", found.reproduction.command);
    return { ...task, facts: { ...task.facts, reproduction: found.reproduction } };
  }

  private leak(task: Task): void {
    for (const level of LEVELS) {
      const leaks = findLeaks(task, writeStatement(task, level));
      if (leaks.length > 0) throw new GateFailed("leak", `level ${level} tells ${leaks.join("; ")}`);
    }
    this.pass("leak", "the answer stands nowhere else in the tree, and no level tells more than it may");
  }
}

export async function validateCandidate(
  parts: ValidatorParts,
  environment: PreparedEnvironment,
  candidate: Candidate,
  options: ValidateOptions,
): Promise<ValidationResult> {
  const validation = new Validation(parts, environment, candidate, options);
  try {
    return { task: await validation.all(), gates: validation.gates };
  } catch (error) {
    if (error instanceof GateFailed) return { task: null, gates: [...validation.gates, error.verdict] };
    throw error;
  }
}
