/** The groups of an asynchronous climb: which are too old, which come first, and whether those that updates wait for can all be met. */
import type { LeaveReason } from "./pace.ts";

export interface PacedGroup {
  /** Number of its start: no two have the same. */
  readonly serial: number;
  /** 1-based; `batch` tasks are dealt at a time. */
  readonly deal: number;
  readonly position: number;
  /** How often its task was sampled before without being used. From 1 on updates wait for it. */
  readonly again: number;
  /** Version that was published when it started: none of its tokens is older. */
  readonly version: number;
  readonly ready: boolean;
  /** Version of its oldest token once it is ready; null then = unknown. */
  readonly oldest: number | null;
}

/** Of a group in progress only that is certain which started from one version and stays with it. */
export function stalenessOf(
  { ready, oldest, version }: PacedGroup,
  parent: number,
  maxLag: number,
  oneVersion: boolean,
): LeaveReason | null {
  if (!ready) return oneVersion && parent - version > maxLag ? "too-slow" : null;
  if (oldest === null) return "unknown-version";
  return parent - oldest > maxLag ? "too-old" : null;
}

/** Order in which batches take ready groups. */
export function inLine(a: PacedGroup, b: PacedGroup): number {
  const anew = (group: PacedGroup) => (group.again > 0 ? 0 : 1);
  return anew(a) - anew(b) || a.oldest! - b.oldest! || a.serial - b.serial;
}

/**
 * Whether updates of `batch` groups each, the first of them of version `parent`, can use all groups that are waited for before these are too old, whenever
 * those in progress end: of each age there are no more than there are updates left.
 */
export function guardsFit(
  groups: readonly PacedGroup[],
  parent: number,
  batch: number,
  maxLag: number,
): boolean {
  const deadlines = groups
    .filter(({ again }) => again > 0)
    .map(({ version, oldest }) => (oldest ?? version) + maxLag)
    .sort((a, b) => a - b);
  return deadlines.every((deadline, index) => index + 1 <= batch * (deadline - parent + 1));
}
