/** What crosses the border between workflows and activities: ids, counts and references, never data. */
import type { ArtifactRef } from "../core/artifact.ts";
import type { Diagnosis } from "../core/diagnosis.ts";
import type { Attributes } from "../core/diversity.ts";
import type { ExperimentSettings, TaskSetSettings } from "../core/experiment.ts";
import type { GroupPlan } from "../core/groups.ts";
import type { LagCounts, TokensByPolicy } from "../core/lag.ts";
import type { BatchPace } from "../core/pace-record.ts";
import type { PolicyRef } from "../core/policy.ts";
import type { PooledTask } from "../core/pool.ts";
import type { Means, RefinementAction, RewriteAction } from "../core/refinement.ts";
import type { Reuse } from "../core/reuse.ts";
import type { Scope } from "../core/scope.ts";
import type { ExperimentStatus, GroupPhase, IterationStatus } from "../core/statuses.ts";
import type { Amendment, Hold } from "../core/steering.ts";
import type { AuthorSettings, GateSettings, HistorySettings } from "../core/synthesis.ts";
import type { GeneratorName, StatementLevel, Task, TaskType } from "../core/task.ts";

export interface EnvironmentRef {
  readonly name: string;
  readonly key: string;
}

/** One synthesised, unvalidated candidate. */
export interface CandidateRef {
  /** Index in its pool or set: the order in which decisions are read. */
  readonly index: number;
  readonly environment: EnvironmentRef;
  readonly generator: Task["generator"];
  /** Equal keys = the same change to the same tree. */
  readonly key: string;
  readonly functions: readonly string[];
  /** What its likeness to others is told by; absent of one from before it was asked. */
  readonly diversity?: Attributes;
  /** Of the candidate; where it is a task already, of that. */
  readonly artifact: ArtifactRef;
  /** Of an imported task, which is one already, with the one statement that its source gives; absent = it is to become one. */
  readonly task?: { readonly id: string; readonly level: StatementLevel };
}

export interface SynthesiseInput {
  readonly seed: number;
  /** Keys of the random streams; `index` is appended for each candidate. */
  readonly randomKeys: readonly (string | number)[];
  readonly environments: readonly EnvironmentRef[];
  /** `round-robin` spreads a fixed set evenly; `random` is for pools; `imported` takes imported tasks in place of making any. */
  readonly choice: "random" | "round-robin" | "imported";
  readonly functions: TaskSetSettings["functions"];
  /** Relative weights. */
  readonly mix: Readonly<Partial<Record<GeneratorName, number>>>;
  readonly heldOutShare: number;
  /** Short keys that count as used: no candidate has one of them. */
  readonly exclude: ArtifactRef | null;
  readonly from: number;
  readonly count: number;
  /** Absent = no model writes tasks. */
  readonly author?: AuthorSettings;
  /** Failed rollouts of earlier iterations that the author is shown, at most. */
  readonly failuresShown?: number;
  /** Relative weights of the types that history and llm are asked for; absent = all alike. */
  readonly types?: Readonly<Record<TaskType, number>>;
  /** Absent = no commit becomes a task. */
  readonly history?: HistorySettings;
  /** The try that it is for; a fixed set has none. */
  readonly scope?: Scope;
  readonly reuse?: Reuse | null;
}

export interface SynthesiseOutput {
  readonly candidates: readonly CandidateRef[];
  /** Indices without a candidate, with the reason. */
  readonly empty: readonly { readonly index: number; readonly reason: string }[];
  /** No later index has a candidate. */
  readonly exhausted?: boolean;
}

export interface ValidateInput {
  /** Key of the record: `<experiment>/it/<i>/try/<k>` or `set/<hash>`. */
  readonly recordScope: string;
  readonly candidate: CandidateRef;
  readonly stabilityRuns: number;
  /** Absent = none of the gates that it switches, as for fixed sets. */
  readonly gates?: GateSettings;
  readonly level: StatementLevel;
  /** Actions that a valid candidate has been through since: where its new form is rejected, the record keeps the one before. Absent = none. */
  readonly revision?: number;
  /** The try that it is for; a fixed set has none. */
  readonly scope?: Scope;
  readonly reuse?: Reuse | null;
}

export interface ValidateOutput {
  /** Null when a gate rejected it. */
  readonly taskId: string | null;
  /** The gate that rejected it. */
  readonly rejectedBy: string | null;
  /** What the gate said; null when none rejected it. */
  readonly message?: string | null;
  /** Of the first statement: the one asked for, or the least that says what the tests need. */
  readonly level?: StatementLevel;
}

export interface RepairInput {
  readonly recordScope: string;
  readonly candidate: CandidateRef;
  /** 1-based: how often it has been sent back, this time included. */
  readonly round: number;
  /** What was said of it, one message each. */
  readonly messages: readonly string[];
  /** As it was synthesised: what the author is told besides. */
  readonly source: SynthesiseInput;
}

export interface RepairOutput {
  /** Null when the author gave it up. */
  readonly candidate: CandidateRef | null;
  readonly reason: string | null;
}

export interface HardenInput {
  readonly scope: Scope;
  readonly reuse: Reuse | null;
  readonly candidate: CandidateRef;
  /** What the candidate became: the new one revises it. */
  readonly taskId: string;
  /** 1-based, of all refinements of the candidate. */
  readonly round: number;
  readonly seed: number;
  readonly heldOutShare: number;
}

export interface HardenOutput {
  /** Of the same index; null where there is no other mistake to combine it with. */
  readonly candidate: CandidateRef | null;
  readonly reason: string | null;
}

export interface RewriteInput {
  readonly scope: Scope;
  readonly reuse: Reuse | null;
  /** Index of the candidate. */
  readonly candidate: number;
  readonly generator: GeneratorName;
  readonly taskId: string;
  /** Of the statement to be probed. */
  readonly level: StatementLevel;
  /** 1-based, of all refinements of the candidate. */
  readonly round: number;
  readonly action: RewriteAction["action"];
  readonly diagnosis: Diagnosis | null;
  readonly author: AuthorSettings;
  /** Benchmarks that the text must share nothing with, as `synthesis.gates.decontaminate` pins them; absent = none. */
  readonly decontaminate?: readonly string[];
}

export interface RewriteOutput {
  /** The same change and tests with another text: another task. Null where no text passed the gates. */
  readonly taskId: string | null;
  /** Of its statement: the one asked for, or the least that says what the tests need. */
  readonly level: StatementLevel;
  readonly reason: string | null;
}

export interface RefineInput {
  readonly taskId: string;
  readonly level: StatementLevel;
}

export interface RefineOutput {
  /** False when the statement of that level leaks or cannot be written. */
  readonly written: boolean;
  readonly reason: string | null;
}

/** A group of rollouts of one task by one policy: what its slots share. */
export interface GroupInput {
  readonly scope: Scope;
  readonly phase: GroupPhase;
  /**
   * Unique in the database: `<experiment>/it/<i>/try/<k>/task/<n>/probe/<refinement>`, `…/climb/<update>/<n>`, or
   * `<experiment>/eval/<set>/<mode>/<policy>/<task>`.
   */
  readonly key: string;
  readonly taskId: string;
  readonly level: StatementLevel;
  readonly policy: PolicyRef;
  readonly size: number;
  readonly seed: number;
  /** Keys of the group's random streams; the member and the turn are appended. */
  readonly randomKeys: readonly (string | number)[];
  readonly limits: ExperimentSettings["rollout"]["limits"];
  readonly sampling: ExperimentSettings["rollout"]["sampling"];
  readonly sandbox: ExperimentSettings["sandbox"];
  readonly grading: ExperimentSettings["grading"];
  readonly reward: ExperimentSettings["reward"];
  readonly policyServer: ExperimentSettings["policy"];
  /** What the slots may take over from earlier tries; without it nothing. */
  readonly reuse?: Reuse | null;
}

export interface RolloutInput {
  readonly group: GroupInput;
  readonly member: number;
}

export interface RolloutOutput {
  readonly key: string;
  readonly exit: string;
  readonly turns: number;
  readonly generatedTokens: number;
  /** How often its prompt was no extension of what came before, so that a new segment began; absent when never. */
  readonly forks?: number;
  /** Of the attempt before the one that was accepted, for people; absent when there was none. */
  readonly failure?: string | null;
}

export interface VerifyOutput {
  readonly key: string;
  readonly passes: number;
  readonly size: number;
  readonly meanReward: number;
  /** All raw rewards equal: nothing to learn from. */
  readonly zeroVariance: boolean;
  /** Sampled tokens of all its rollouts; absent = all are of the policy that was asked. */
  readonly versions?: TokensByPolicy;
}

export interface FilterInput {
  readonly recordScope: string;
  readonly candidate: number;
  readonly taskId: string;
  readonly level: StatementLevel;
  readonly refinement: number;
  /** Levels of this wording already probed, this one included. */
  readonly probed: readonly StatementLevel[];
  readonly group: GroupInput;
  readonly passes: number;
  readonly filter: ExperimentSettings["filter"];
  readonly levels: { readonly min: StatementLevel; readonly max: StatementLevel };
  /** What can be done beside changing the level, and what was; absent = levels alone. */
  readonly means?: Means;
  readonly done?: readonly string[];
}

/** Without a diagnosis where the task is admitted. */
export type FilterOutput = RefinementAction & { readonly diagnosis?: Diagnosis | null };

export interface AssembleInput {
  readonly scope: Scope;
  readonly update: number;
  readonly groups: readonly string[];
  readonly advantage: ExperimentSettings["advantage"];
  /** Where groups are cut before they are trained on; absent = they are trained on whole. */
  readonly plan?: GroupPlan;
  /** Of an asynchronous climb: what goes on record with the batch, and the policies that it may hold tokens of, oldest first, the last being the parent. */
  readonly pace?: Omit<BatchPace, "lags"> & { readonly versions: readonly string[] };
}

export interface AssembleOutput {
  /** Null when every group was dropped: nothing to learn from. */
  readonly batch: ArtifactRef | null;
  readonly kept: number;
  readonly dropped: number;
  /** Where a pace was given: trained tokens by their age. */
  readonly lags?: LagCounts;
}

export interface UpdateInput {
  readonly scope: Scope;
  readonly update: number;
  readonly batch: ArtifactRef;
  readonly kept: number;
  readonly dropped: number;
  readonly parent: PolicyRef;
  readonly freshOptimizer: boolean;
  readonly loss: ExperimentSettings["loss"];
  readonly optimizer: ExperimentSettings["optimizer"];
  /** What a trainer process trains with; absent for the embedded policy. */
  readonly trainer?: ExperimentSettings["trainer"];
  readonly reuse?: Reuse | null;
}

export interface EvaluateInput {
  readonly scope: Scope;
  readonly set: string;
  readonly setHash: string;
  /** `sampled`, `greedy`, or a control's name. */
  readonly mode: string;
  readonly policy: string;
  readonly groups: readonly string[];
  readonly seed: number;
}

export interface EvaluateOutput {
  readonly tasks: number;
  readonly samples: number;
  readonly passAt1: number;
  readonly low: number;
  readonly high: number;
}

export interface TaskSetRef {
  readonly name: string;
  readonly hash: string;
  readonly tasks: readonly string[];
  /** Candidate keys of the tasks, same order: what pools must leave out. */
  readonly keys: readonly string[];
}

/** Everything that determines a fixed set of tasks. */
export interface TaskSetSpec {
  readonly environments: readonly EnvironmentRef[];
  readonly functions: TaskSetSettings["functions"];
  readonly tasks: number;
  readonly seed: number;
  readonly mix: Readonly<Partial<Record<GeneratorName, number>>>;
  readonly heldOutShare: number;
  readonly stabilityRuns: number;
  readonly perFunctionCap: number;
  readonly level: StatementLevel;
}

export interface ExperimentStatusInput {
  readonly experiment: string;
  readonly status: ExperimentStatus;
  /** What the experiment is doing, for people. */
  readonly phase?: string;
  readonly error?: string;
  readonly policy?: PolicyRef;
}

export interface IterationRecordInput {
  readonly scope: Scope;
  readonly status: Exclude<IterationStatus, "pending">;
  readonly startPolicy: string;
  readonly endPolicy: string | null;
  /** Why it failed. */
  readonly error?: string;
  /** Absent: as it was recorded before. */
  readonly pool?: {
    readonly admitted: number;
    readonly dropped: number;
    readonly refined: number;
    readonly candidates: number;
    /** Absent = none. */
    readonly hinted?: number;
  } | null;
  readonly pinned: unknown;
  /** Once the pool is full: keys of its candidates, and index of the last candidate whose result was read. */
  readonly keys?: readonly string[];
  readonly lastCandidate?: number;
}

/** The latest try of an iteration, as an experiment that goes on needs it. */
export interface IterationOnRecord {
  readonly try: number;
  /** An earlier iteration has been replayed since: what it came to is not of this run. */
  readonly stale: boolean;
  /** Set when it is finished, with the pool's candidates, which later pools leave out. */
  readonly finished: { readonly policy: PolicyRef; readonly keys: readonly string[] } | null;
  /** The input of a try that is not finished: to be run as it was pinned. */
  readonly pinned: object | null;
}

/** The verbs. Each is idempotent: the same input writes the same record again. */
export interface Activities {
  prepareEnvironment(input: { readonly name: string; readonly repeats: number }): Promise<EnvironmentRef>;
  startPolicy(input: {
    readonly seed: number;
    readonly kind: ExperimentSettings["policy"]["kind"];
    /** Of a stand-in. */
    readonly passRates?: readonly number[];
    /** Folder of the start weights, of an engine kind. */
    readonly model?: string;
  }): Promise<PolicyRef>;
  synthesise(input: SynthesiseInput): Promise<SynthesiseOutput>;
  validate(input: ValidateInput): Promise<ValidateOutput>;
  harden(input: HardenInput): Promise<HardenOutput>;
  repair(input: RepairInput): Promise<RepairOutput>;
  rewrite(input: RewriteInput): Promise<RewriteOutput>;
  refine(input: RefineInput): Promise<RefineOutput>;
  rollout(input: RolloutInput): Promise<RolloutOutput>;
  verify(input: GroupInput): Promise<VerifyOutput>;
  filter(input: FilterInput): Promise<FilterOutput>;
  assemble(input: AssembleInput): Promise<AssembleOutput>;
  update(input: UpdateInput): Promise<PolicyRef>;
  publish(input: {
    readonly policy: PolicyRef;
    readonly policyServer: ExperimentSettings["policy"];
  }): Promise<void>;
  evaluate(input: EvaluateInput): Promise<EvaluateOutput>;
  /** Null when none of that number has begun. */
  findIteration(input: {
    readonly experiment: string;
    readonly iteration: number;
  }): Promise<IterationOnRecord | null>;
  /** The pool of a finished iteration, in the order in which its tasks were admitted. */
  findPool(input: {
    readonly experiment: string;
    readonly iteration: number;
  }): Promise<readonly PooledTask[]>;
  findTaskSet(input: {
    readonly spec: TaskSetSpec;
    readonly name: string;
  }): Promise<{ readonly hash: string; readonly found: TaskSetRef | null }>;
  /** `lastCandidate` = index of the last candidate whose result was read. */
  saveTaskSet(input: {
    readonly spec: TaskSetSpec;
    readonly set: TaskSetRef;
    readonly lastCandidate: number;
  }): Promise<void>;
  /** The hold in force: the first reason stays until it is released. */
  hold(input: { readonly experiment: string; readonly hold: Hold }): Promise<Hold>;
  /** The hold that the request ended, however often it asks; null where there was none. */
  release(input: { readonly experiment: string; readonly request: string }): Promise<Hold | null>;
  /** Keeps on record that the request was done. */
  noteRequest(input: {
    readonly experiment: string;
    readonly request: string;
    readonly verb: "pause" | "stop" | "skip";
  }): Promise<void>;
  /** Looks on until there is a hold, whoever set it; sets one when a watchdog trips. */
  watch(input: {
    readonly experiment: string;
    readonly watchdog: ExperimentSettings["watchdog"];
  }): Promise<Hold>;
  /** Resolves once no activity of the experiment is being worked on, but for those that look after it. */
  awaitDrained(input: { readonly experiment: string }): Promise<void>;
  /** Records all amendments as they stand. */
  amend(input: { readonly experiment: string; readonly amendments: readonly Amendment[] }): Promise<void>;
  recordExperiment(input: ExperimentStatusInput): Promise<void>;
  recordIteration(input: IterationRecordInput): Promise<void>;
  /** Of a try whose climb is over. */
  noteFailures(input: { readonly scope: Scope }): Promise<void>;
  /** Appends short keys of candidates to those used `before`: as a file, for they grow with the experiment. */
  noteUsed(input: {
    readonly experiment: string;
    readonly before: ArtifactRef | null;
    readonly keys: readonly string[];
  }): Promise<ArtifactRef>;
}

/** Short work on the record: the `orchestrate` queue. */
export type RecordActivities = Pick<
  Activities,
  | "amend"
  | "assemble"
  | "evaluate"
  | "filter"
  | "findIteration"
  | "findPool"
  | "findTaskSet"
  | "hold"
  | "noteFailures"
  | "noteRequest"
  | "noteUsed"
  | "publish"
  | "recordExperiment"
  | "recordIteration"
  | "refine"
  | "release"
  | "saveTaskSet"
>;

/** What looks after an experiment for as long as it runs, and is none of its work: the `watch` queue. */
export const WATCHING = ["awaitDrained", "watch"] as const satisfies readonly (keyof Activities)[];
export type WatchActivities = Pick<Activities, (typeof WATCHING)[number]>;

/** Work in sandboxes: the `sandbox` queue. */
export type SandboxActivities = Pick<
  Activities,
  "harden" | "prepareEnvironment" | "repair" | "rewrite" | "rollout" | "synthesise" | "validate" | "verify"
>;

/** Training: the `gpu` queue. */
export type GpuActivities = Pick<Activities, "publish" | "startPolicy" | "update">;
