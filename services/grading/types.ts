/** Grading: one rule for every format, in a fresh sandbox. */
import type { FileChange, StatusMap, Task, Verdict, Verifier } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { SandboxLimits } from "../sandbox/runtime.ts";

export interface TestReport {
  readonly statuses: StatusMap;
  /** True when the report's own end was seen (TAP: the plan line and as many results). */
  readonly complete: boolean;
}

export interface TestRunRequest {
  readonly environment: PreparedEnvironment;
  /** Applied to the environment's tree; changes of protected paths are left out. */
  readonly overlay: readonly FileChange[];
  /** Of the tree with the overlay, where it is known already. */
  readonly treeHash?: string;
  /** Scopes of the commands to run; default all of the environment's. */
  readonly files?: readonly string[];
  /** Judges instead of the environment's own tests, which are then an ordinary part of the tree. */
  readonly verifier?: Verifier;
  readonly limits: SandboxLimits;
  /** Seconds, of the whole run; derived from the environment's baseline by `limitsOf(environment)`. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly signal?: AbortSignal;
}

export interface TestRunResult {
  readonly report: TestReport;
  /** By the command's scope, or the command itself where it has none. */
  readonly exitCodes: Readonly<Record<string, number | null>>;
  /** Those of them that do not agree with the command's own report (`agrees`). */
  readonly contradictions: readonly string[];
  readonly ended: boolean;
  readonly outOfMemory: boolean;
  /** The limit that ended the run; absent when it ended by itself. */
  readonly stoppedBy?: "timeout" | "cpu" | "memory" | "processes" | "disk";
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly treeHash: string;
  readonly log: string;
}

/** Cold: each command in a process of its own in a fresh sandbox. Warm: one sandboxed node per environment, fresh modules per run. */
export interface TestRunner {
  readonly mode: "cold" | "warm";
  run(request: TestRunRequest): Promise<TestRunResult>;
  /** Nothing that is kept of an environment is used again: its files are no longer what they were. */
  forget(environmentKey: string): Promise<void>;
  close(): Promise<void>;
}

export interface GradeRequest {
  readonly environment: PreparedEnvironment;
  readonly task: Task;
  /** The agent's change against the task's base tree. */
  readonly change: readonly FileChange[];
  readonly mode: "cold" | "warm";
  /** Re-use a verdict of the same (task, tree). */
  readonly reuse: boolean;
  readonly signal?: AbortSignal;
}

export interface GradingService {
  grade(request: GradeRequest): Promise<Verdict>;
  runTests(request: TestRunRequest, mode: "cold" | "warm"): Promise<TestRunResult>;
  /** Drops verdicts and warm processes of an environment. */
  forget(environmentKey: string): Promise<void>;
  close(): Promise<void>;
}
