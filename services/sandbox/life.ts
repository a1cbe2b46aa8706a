/** When a sandbox may be removed: one rule for every runtime. Pure. */
import type { SandboxIdentity, SandboxInfo } from "./runtime.ts";

/**
 * A lease that was not renewed for this long has run out. Activities renew with each heartbeat, every two seconds, whatever the model or
 * a command takes; only an activity that Temporal has given up renews no more.
 */
export const LEASE_MS = 10 * 60_000;

/** What is on record of a sandbox; times in milliseconds since the epoch. */
export interface Life {
  readonly identity: Pick<SandboxIdentity, "deadline" | "adoptable">;
  /** Null where it cannot be told: the owner is of another host. */
  readonly ownerAlive: boolean | null;
  /** Last renewal; undefined where nobody ever renewed: then there is no lease that could run out. */
  readonly lease?: number | undefined;
  /** When a reap first found it without an owner or a lease. */
  readonly orphaned?: number | undefined;
}

/** `live`: its owner is at work; `orphaned`: no live owner, or its lease ran out; `expired`: past its deadline. */
export function stateOf({ identity, ownerAlive, lease }: Life, now: number): SandboxInfo["state"] {
  if (now > identity.deadline) return "expired";
  const lapsed = lease !== undefined && now - lease > LEASE_MS;
  return ownerAlive === false || lapsed ? "orphaned" : "live";
}

/** `wait` = orphaned, and left for the grace from `Life.orphaned` on; a reap that finds none there writes its `now`. */
export type Verdict = "keep" | "wait" | "orphaned" | "expired";

/**
 * What a reap does with a sandbox; `orphaned` and `expired` are removed. Two kinds of orphans get the grace: adoptable ones, in which the slot's
 * next attempt goes on, and those whose owner lives, for their host may have slept while the clock ran.
 */
export function judge(life: Life, now: number, graceMs: number): Verdict {
  const state = stateOf(life, now);
  if (state === "expired") return "expired";
  if (state === "live") return "keep";
  const mayGoOn = life.identity.adoptable === true || life.ownerAlive !== false;
  if (!mayGoOn || graceMs <= 0) return "orphaned";
  return life.orphaned !== undefined && now - life.orphaned >= graceMs ? "orphaned" : "wait";
}
