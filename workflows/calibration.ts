/** The state of one candidate on its way into the pool, and the steps that change it. Every action counts as one refinement, so all of it ends. */
import { setCurrentDetails } from "@temporalio/workflow";
import type {
  CandidateRef,
  FilterOutput,
  GroupInput,
  SynthesiseInput,
  ValidateInput,
} from "../activities/types.ts";
import { calibrationDetails } from "../core/details.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyRef } from "../core/policy.ts";
import { type Counts, estimatedRate, nextRollouts, type ProbePlan, probePlan } from "../core/probing.ts";
import type { Means, RewriteAction } from "../core/refinement.ts";
import type { Reuse } from "../core/reuse.ts";
import { type Scope, scopeKey } from "../core/scope.ts";
import type { Outcome } from "../core/search-attributes.ts";
import type { GateSettings } from "../core/synthesis.ts";
import type { StatementLevel } from "../core/task.ts";
import { noteAttributes } from "./attributes.ts";
import { type CollectedGroup, collect } from "./collectGroup.ts";
import { records, sandboxes } from "./config.ts";
import { groupSettings } from "./groupSettings.ts";

export interface CalibrateTaskInput {
  readonly scope: Scope;
  readonly candidate: CandidateRef;
  readonly policy: PolicyRef;
  readonly settings: ExperimentSettings;
  readonly reuse?: Reuse | null;
  /** As it was synthesised; absent where nobody can repair it. */
  readonly source?: SynthesiseInput;
}

export interface AdmittedTask {
  readonly taskId: string;
  readonly environment: string;
  readonly level: StatementLevel;
  /** Key of the probe group that admitted it; null without a filter. */
  readonly probeGroup: string | null;
  /** As that probe estimates it; null or absent where there was none. */
  readonly passRate?: number | null;
  /** Nobody solves it without a statement above `synthesis.maxLevel`: apart from the calibrated ones. */
  readonly hinted?: boolean;
}

export interface CalibrateTaskOutput {
  readonly admitted: AdmittedTask | null;
  readonly refinements: number;
  /** Why it was dropped: a gate, or the filter's reason. */
  readonly reason: string | null;
  /** Of its latest probe, of `filter.probes`: scaled where it stopped early; null when it was not probed. */
  readonly passes: number | null;
  /** The latest that a probe's rollouts had to be tried again for. */
  readonly failure: string | null;
  /** Of all its probes; absent before there was a budget of them. */
  readonly rollouts?: number;
  /** Key of the candidate that it became; absent where it is the one it was. */
  readonly key?: string;
}

export function validateInput(
  record: string,
  candidate: CandidateRef,
  settings: Pick<ValidateInput, "stabilityRuns" | "level" | "gates">,
): ValidateInput {
  const { stabilityRuns, level, gates } = settings;
  return { recordScope: record, candidate, stabilityRuns, level, ...(gates && { gates }) };
}

/** Generators whose change is known well enough to be combined with another. */
const COMBINABLE: readonly string[] = ["mutation", "combination", "removal"];

export class Calibration {
  readonly #input: CalibrateTaskInput;
  #candidate: CandidateRef;
  #taskId = "";
  #level: StatementLevel;
  /** Levels of the present wording that were probed. */
  #probed: StatementLevel[] = [];
  #refinements = 0;
  #repairs = 0;
  #done: string[] = [];
  #passes: number | null = null;
  #failure: string | null = null;
  #rollouts = 0;
  /** For the details: one line each. */
  readonly #told: string[] = [];

  constructor(input: CalibrateTaskInput) {
    this.#input = input;
    this.#candidate = input.candidate;
    this.#level = input.settings.synthesis.startLevel;
  }

  async run(): Promise<CalibrateTaskOutput> {
    const { filter } = this.#input.settings;
    const refused = await this.#validate();
    if (refused !== null) return this.#end("rejected", { reason: refused });
    const admitted = () => ({
      taskId: this.#taskId,
      environment: this.#candidate.environment.name,
      level: this.#level,
    });
    if (!filter.enabled) return this.#end("admitted", { admitted: { ...admitted(), probeGroup: null } });
    const plan = probePlan(filter);
    for (; ; this.#refinements++) {
      this.#probed.push(this.#level);
      const { group, counts } = await this.#probe(plan);
      const decision = await this.#decide(group, counts);
      if (decision.action === "admit") {
        // What was left out of the probe is made up for: a training group is whole.
        if (filter.probesAsGroups && counts.runs < group.size) {
          await collect({ group, from: counts.runs });
          this.#rollouts += group.size - counts.runs;
        }
        const passRate = estimatedRate(plan, counts);
        return this.#end("admitted", { admitted: { ...admitted(), probeGroup: group.key, passRate } });
      }
      if (decision.action === "hint") {
        const level = await this.#hinted(decision.level);
        if (level === null) return this.#end("dropped", { reason: "no-hint-helps" });
        const hinted = { ...admitted(), level, probeGroup: null, passRate: null, hinted: true };
        return this.#end("admitted", { admitted: hinted });
      }
      const reason = decision.action === "drop" ? decision.reason : await this.#act(decision);
      if (reason !== null) return this.#end("dropped", { reason });
    }
  }

  #end(
    outcome: Outcome,
    how: Partial<Pick<CalibrateTaskOutput, "admitted" | "reason">>,
  ): CalibrateTaskOutput {
    noteAttributes({ outcome });
    this.#tell(`${outcome}${how.reason == null ? "" : `: ${how.reason}`}`);
    return {
      admitted: null,
      reason: null,
      refinements: this.#refinements,
      passes: this.#passes,
      failure: this.#failure,
      rollouts: this.#rollouts,
      ...(this.#candidate.key === this.#input.candidate.key ? {} : { key: this.#candidate.key }),
      ...how,
    };
  }

  #tell(line: string): void {
    this.#told.push(line);
    const task = this.#taskId === "" ? null : this.#taskId;
    setCurrentDetails(
      calibrationDetails({
        task,
        level: this.#level,
        refinements: this.#refinements,
        repairs: this.#repairs,
        steps: this.#told,
      }),
    );
  }

  /** Null once it is a task; else the gate, or why its author gave up. */
  async #validate(): Promise<string | null> {
    const { scope, settings, reuse = null } = this.#input;
    const { stabilityRuns, startLevel: level, gates } = settings.synthesis;
    for (;;) {
      const valid = await sandboxes.validate({
        ...validateInput(scopeKey(scope), this.#candidate, { stabilityRuns, level, gates }),
        scope,
        reuse,
        ...(this.#done.length === 0 ? {} : { revision: this.#done.length }),
      });
      if (valid.taskId !== null) {
        this.#taskId = valid.taskId;
        this.#level = valid.level ?? level;
        this.#probed = [];
        return null;
      }
      if (!this.#mayRepair()) return valid.rejectedBy;
      const gaveUp = await this.#repair([`${valid.rejectedBy}: ${valid.message ?? "refused"}`]);
      if (gaveUp !== null) return gaveUp;
    }
  }

  async #probe(plan: ProbePlan): Promise<{ readonly group: GroupInput; readonly counts: Counts }> {
    const { scope, candidate } = this.#input;
    const group = this.#group(
      `probe/${this.#refinements}`,
      [scope.iteration, "probe", candidate.index, this.#refinements],
      this.#level,
    );
    const { failure, ...counts } = await collectProbe(group, plan);
    this.#rollouts += counts.runs;
    this.#passes = Math.round(estimatedRate(plan, counts) * plan.runs);
    this.#failure = failure ?? this.#failure;
    return { group, counts };
  }

  /** `name` within the candidate. */
  #group(name: string, randomKeys: GroupInput["randomKeys"], level: StatementLevel): GroupInput {
    const { scope, candidate, policy, settings, reuse = null } = this.#input;
    return {
      scope,
      phase: "probe",
      key: `${scopeKey(scope)}/task/${candidate.index}/${name}`,
      taskId: this.#taskId,
      level,
      policy,
      size: settings.filter.probes,
      randomKeys,
      ...groupSettings(settings),
      reuse,
    };
  }

  async #decide(group: GroupInput, { passes, runs }: Counts): Promise<FilterOutput> {
    const { scope, candidate, settings } = this.#input;
    const { filter, synthesis } = settings;
    const means = this.#means();
    const decision = await records.filter({
      recordScope: scopeKey(scope),
      candidate: candidate.index,
      taskId: this.#taskId,
      level: this.#level,
      refinement: this.#refinements,
      probed: [...this.#probed],
      group: { ...group, size: runs },
      passes,
      filter,
      levels: { min: synthesis.minLevel, max: synthesis.maxLevel },
      ...(means === null ? {} : { means, done: [...this.#done] }),
    });
    const { diagnosis } = decision;
    const why = diagnosis == null ? "" : ` (${diagnosis.cause}: ${diagnosis.evidence})`;
    this.#tell(`${passes} of ${runs} passed at level ${this.#level}${why} → ${decision.action}`);
    return decision;
  }

  /** Null where levels are all there is. Settings of before there was more lack it. */
  #means(): Means | null {
    // Its source has worded it and knows no other way.
    if (this.#candidate.task !== undefined) return null;
    const { filter, synthesis } = this.#input.settings;
    const means = {
      rewrite: filter.refiner === "model" && synthesis.author != null,
      harden: filter.hardenByCombining === true && COMBINABLE.includes(this.#candidate.generator),
      sendBack: this.#mayRepair(),
      hint: filter.hintLadder === true,
    };
    // What a model wrote has tests that may be weak, also once it was sent back as often as it may be.
    return this.#candidate.generator === "llm" || Object.values(means).includes(true) ? means : null;
  }

  /** Null when there is another thing to probe; else why not. */
  async #act(
    decision: Exclude<FilterOutput, { readonly action: "admit" | "drop" | "hint" }>,
  ): Promise<string | null> {
    if (decision.action !== "refine") this.#done.push(decision.action);
    switch (decision.action) {
      case "harden":
        return this.#harden();
      case "send-back": {
        const { cause, evidence } = decision.diagnosis ?? { cause: "no diagnosis", evidence: "" };
        return (await this.#repair([`${cause}: ${evidence}`])) ?? (await this.#validate());
      }
      case "add-behaviour":
      case "state-contract":
      case "remove-localisation":
        return this.#rewrite(decision);
      default:
        return this.#writeLevel(decision.level);
    }
  }

  async #writeLevel(level: StatementLevel): Promise<string | null> {
    const { written, reason } = await records.refine({ taskId: this.#taskId, level });
    if (!written) return reason;
    this.#level = level;
    return null;
  }

  async #rewrite(decision: RewriteAction & Pick<FilterOutput, "diagnosis">): Promise<string | null> {
    const { scope, settings, candidate, reuse = null } = this.#input;
    const { action, otherwise, diagnosis = null } = decision;
    const { generator } = this.#candidate;
    // `#means` offers it for none of them.
    if (generator === "import") return "an imported task has the one statement of its source";
    const decontaminate = (settings.synthesis.gates as GateSettings | undefined)?.decontaminate ?? [];
    const written = await sandboxes.rewrite({
      scope,
      reuse,
      candidate: candidate.index,
      generator,
      taskId: this.#taskId,
      level: decision.level,
      round: this.#refinements + 1,
      action,
      diagnosis,
      author: settings.synthesis.author!,
      ...(decontaminate.length > 0 && { decontaminate }),
    });
    if (written.taskId !== null) {
      this.#tell(`${action}: \`${this.#taskId}\` became \`${written.taskId}\``);
      this.#taskId = written.taskId;
      this.#level = written.level;
      this.#probed = [];
      return null;
    }
    this.#tell(`${action}: ${written.reason}; ${otherwise.action} instead`);
    return otherwise.action === "drop" ? otherwise.reason : this.#writeLevel(otherwise.level);
  }

  async #harden(): Promise<string | null> {
    const { scope, settings, reuse = null } = this.#input;
    const { candidate, reason } = await sandboxes.harden({
      scope,
      reuse,
      candidate: this.#candidate,
      taskId: this.#taskId,
      round: this.#refinements + 1,
      seed: settings.seed,
      heldOutShare: settings.synthesis.heldOutShare,
    });
    if (candidate === null) return `harden: ${reason}`;
    this.#candidate = candidate;
    const refused = await this.#validate();
    return refused === null ? null : `harden: ${refused}`;
  }

  #mayRepair(): boolean {
    const { settings, source } = this.#input;
    const repairs = settings.synthesis.author?.repairs ?? 0;
    return this.#candidate.generator === "llm" && source !== undefined && this.#repairs < repairs;
  }

  /** Null when its author delivered it anew; else why not. */
  async #repair(messages: readonly string[]): Promise<string | null> {
    const { scope, source } = this.#input;
    this.#repairs++;
    const { candidate, reason } = await sandboxes.repair({
      recordScope: scopeKey(scope),
      candidate: this.#candidate,
      round: this.#repairs,
      messages,
      source: source!,
    });
    this.#tell(`sent back (${messages.join("; ")})${candidate === null ? `: ${reason}` : ""}`);
    if (candidate === null) return reason;
    this.#candidate = candidate;
    return null;
  }

  /** The first level from here on with which somebody solves it, outside of calibration; null where nobody does. */
  async #hinted(from: StatementLevel): Promise<StatementLevel | null> {
    const { scope, candidate } = this.#input;
    for (let level: number = from; level <= 3; level++) {
      const hint = level as StatementLevel;
      const { written, reason } = await records.refine({ taskId: this.#taskId, level: hint });
      if (!written) {
        this.#tell(`hint of level ${level}: ${reason}`);
        continue;
      }
      const randomKeys = [scope.iteration, "hint", candidate.index, level];
      const { passes, size, failure } = await collect({
        group: this.#group(`hint/${level}`, randomKeys, hint),
      });
      this.#rollouts += size;
      this.#failure = failure ?? this.#failure;
      this.#tell(`${passes} of ${size} passed with a hint of level ${level}`);
      if (passes > 0) return hint;
    }
    return null;
  }
}

/** Rollouts of a probe, a few at a time where it may stop early: none is begun that the decision might do without. */
async function collectProbe(
  group: GroupInput,
  plan: ProbePlan,
): Promise<Counts & { readonly failure: string | null }> {
  let counts: Counts = { passes: 0, runs: 0 };
  let failure: string | null = null;
  for (;;) {
    const more = nextRollouts(plan, counts);
    if (more === 0) return { ...counts, failure };
    const runs = counts.runs + more;
    const collected: CollectedGroup = await collect({ group: { ...group, size: runs }, from: counts.runs });
    counts = { passes: collected.passes, runs };
    failure = collected.failure ?? failure;
  }
}
