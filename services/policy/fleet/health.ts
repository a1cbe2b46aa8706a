/** Whether an engine may be given turns, by what became of the last ones. Pure. */
import { PolicyError } from "../client.ts";

/** Turns that fail by chance come alone; an engine that is away fails each. */
const FAILURES_IN_A_ROW = 3;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

export interface Quarantine {
  /** It serves other weights than this policy's; for turns of another policy it may be well. Null = for all turns. */
  readonly policy: string | null;
  readonly reason: string;
  /** When it may be asked again, on the caller's clock. */
  readonly untilMs: number;
}

export interface Health {
  /** Failed turns in a row. */
  readonly failures: number;
  /** Quarantines since the last turn that it answered: each is twice as long as the one before. */
  readonly times: number;
  readonly out: Quarantine | null;
}

export const WELL: Health = { failures: 0, times: 0, out: null };

/** The quarantine that keeps a turn of `policy` off the engine. */
export function outFor({ out }: Health, policy: string): Quarantine | null {
  return out !== null && (out.policy === null || out.policy === policy) ? out : null;
}

function quarantine(health: Health, policy: string | null, reason: string, nowMs: number): Health {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** health.times, LONGEST_WAIT_MS);
  return { ...health, times: health.times + 1, out: { policy, reason, untilMs: nowMs + wait } };
}

/** After a turn of `policy` failed on the engine. */
export function afterFailure(health: Health, error: unknown, policy: string, nowMs: number): Health {
  if (!(error instanceof PolicyError)) return health;
  const { kind, message } = error;
  // Of the turns that were in progress when it fell ill, the first has said so.
  if ((outFor(health, policy)?.untilMs ?? nowMs) > nowMs) return health;
  if (kind === "not-served") return quarantine(health, policy, message, nowMs);
  // The caller gave up, weights came, the prompt is too long, or the set-up is wrong: none says that the engine is sick.
  if (kind === "aborted" || kind === "context" || kind === "capability") return health;
  const failures = health.failures + 1;
  if (failures < FAILURES_IN_A_ROW) return { ...health, failures };
  return quarantine({ ...health, failures }, null, message, nowMs);
}

/** After an engine in quarantine was asked what it serves, and was not well yet. */
export function afterFailedProbe(
  health: Health,
  policy: string | null,
  reason: string,
  nowMs: number,
): Health {
  return quarantine(health, policy, reason, nowMs);
}

/** After a turn of `policy` was answered: a quarantine for the sake of another policy stays. */
export function afterSuccess(health: Health, policy: string): Health {
  return outFor(health, policy) === null && health.out !== null ? { ...health, failures: 0 } : WELL;
}

/** After it said that it serves what is asked for. It may still fail its turns: the first that does puts it out again, for longer. */
export function afterGoodProbe(health: Health): Health {
  return { ...health, failures: FAILURES_IN_A_ROW - 1, out: null };
}
