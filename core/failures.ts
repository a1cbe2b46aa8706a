/**
 * Every failure an activity reports, and what follows from it. This table alone decides whether trying again can help, whether the
 * slot's infrastructure budget pays for it, and whether the experiment is held until someone has looked.
 */
import { errorKind } from "./errors.ts";

export interface FailureRule {
  readonly retried: boolean;
  /** Spends `limits.infrastructureRetries` of its slot and feeds the watchdog. */
  readonly spendsBudget: boolean;
  /** The experiment is held: the reason is shown, everything waits for a resume, then the work is tried again. */
  readonly holds: boolean;
  /** For people: what it says about the run. */
  readonly meaning: string;
}

const rule = (
  meaning: string,
  { retried = true, spendsBudget = false, holds = false }: Partial<FailureRule> = {},
): FailureRule => ({ retried, spendsBudget, holds, meaning });

/** By the `type` of the ApplicationFailure that Temporal shows. */
export const FAILURES = {
  BadInput: rule("someone has to change something: settings, an environment, a record", { retried: false }),
  Infrastructure: rule("a sandbox, a grader or an inference server failed; no sample was taken", {
    spendsBudget: true,
  }),
  Internal: rule("an error nobody expected; no sample was taken", { spendsBudget: true }),
  Unavailable: rule("the record cannot be reached; the work waits for it"),
  Held: rule("the experiment is held; the work waits for a resume"),
  Fenced: rule("a newer attempt owns the slot; this one changes nothing"),
  DeviceMemory: rule("the device's memory does not hold the update", { holds: true }),
  Diverged: rule("the update made a policy that is not finite", { holds: true }),
  DiskLow: rule("the disk is below its watermark, or full", { holds: true }),
  BudgetSpent: rule("the budget holds no more; it goes on once that is raised", { holds: true }),
} as const satisfies Readonly<Record<string, FailureRule>>;

export type FailureType = keyof typeof FAILURES;

const TYPES = Object.keys(FAILURES) as FailureType[];

/** Types that Temporal must not retry. */
export const NOT_RETRIED = TYPES.filter((type) => !FAILURES[type].retried);

/** Types that budgets and the watchdog count. */
export const RETRY_SPENDING = TYPES.filter((type) => FAILURES[type].spendsBudget);

/** By `<error's name>.<kind>`; `*` stands for every other kind of that class. */
const TYPE_OF: Readonly<Record<string, FailureType>> = {
  "SandboxError.disk": "DiskLow",
  "SandboxError.*": "Infrastructure",
  "AuthorError.unreachable": "Infrastructure",
  "AuthorError.rate-limited": "Infrastructure",
  "AuthorError.server": "Infrastructure",
  "AuthorError.aborted": "Infrastructure",
  "AuthorError.*": "BadInput",
  "PolicyError.capability": "BadInput",
  "PolicyError.*": "Infrastructure",
  "SynthesisError.*": "Infrastructure",
  "SpendError.exhausted": "BudgetSpent",
  "SpendError.*": "BadInput",
  "StoreError.unreachable": "Unavailable",
  "StoreError.timeout": "Unavailable",
  "StoreError.busy": "Unavailable",
  "StoreError.disk-full": "DiskLow",
  "StoreError.fenced": "Fenced",
  "StoreError.*": "BadInput",
  "ArtifactError.disk-full": "DiskLow",
  "ArtifactError.unwritable": "DiskLow",
  "ArtifactError.unreachable": "Unavailable",
  "ArtifactError.*": "BadInput",
  "EnvironmentError.install": "Infrastructure",
  "EnvironmentError.*": "BadInput",
  "TrainerError.diverged": "Diverged",
  "TrainerError.memory": "DeviceMemory",
  "TrainerError.disk": "DiskLow",
  "TrainerError.collective": "Infrastructure",
  "TrainerError.stalled": "Infrastructure",
  "TrainerError.untrained": "Infrastructure",
  "TrainerError.dead": "Infrastructure",
  "TrainerError.*": "BadInput",
  "BatchError.*": "BadInput",
  "CheckpointError.not-finite": "Diverged",
  "CheckpointError.*": "BadInput",
};

/** The failure type of any error; `Internal` for one of another origin. */
export function failureType(error: unknown): FailureType {
  const kind = errorKind(error);
  if (kind === null) return "Internal";
  const { name } = error as Error;
  return TYPE_OF[`${name}.${kind}`] ?? TYPE_OF[`${name}.*`] ?? "Internal";
}

export function failureRule(type: string): FailureRule {
  return FAILURES[type as FailureType] ?? FAILURES.Internal;
}
