/** What of a verdict is kept as an artifact beside its rollout: for diagnoses and for people, no part of a reward. */
import type { Reach } from "./diagnosis.ts";
import type { Verdict } from "./task.ts";

type Kept = "outcome" | "rule" | "offending" | "statuses" | "cpuSeconds" | "wallSeconds" | "mode";

/** `verify` writes it; a log of before something was noted lacks that. */
export interface VerdictLog extends Pick<Verdict, Kept> {
  /** What the commands printed, cut; "" where none ran. */
  readonly log: string;
  /** What is worth knowing about the change (`VERDICT_FLAGS` of grading). */
  readonly flags?: readonly string[];
  /** How near the change came to the intended place; this and what follows are absent of a task without a solution. */
  readonly reach?: Reach;
  /** Source lines that the change, and the intended one, add or remove. */
  readonly lines?: number;
  readonly goldLines?: number;
}
