/** What a new try of an iteration may take over from earlier tries: phases in their order (docs/replay.md). */
import type { GroupPhase } from "./statuses.ts";

/** The five verbs of an iteration, in order; selection and evaluation follow. */
export const REPLAY_PHASES = ["synthesise", "filter", "rollout", "verify", "update"] as const;
export type ReplayPhase = (typeof REPLAY_PHASES)[number];

/**
 * In the input of a try: pieces of the phases before `from` are taken from tries before this one where their content keys match; those of
 * `from` and later are made anew. Null `from` = every phase may be re-used.
 */
export interface Reuse {
  readonly from: ReplayPhase | null;
}

/** Whether finished pieces of a phase may be taken over. Without `reuse` (a first try) nothing is. */
export function mayReuse(reuse: Reuse | null | undefined, phase: ReplayPhase): boolean {
  if (reuse == null) return false;
  return reuse.from === null || REPLAY_PHASES.indexOf(phase) < REPLAY_PHASES.indexOf(reuse.from);
}

/**
 * Whether the rollouts of a group, or their verdicts, may be taken over. A probe belongs to the filter as a whole; what a checkpoint is selected by
 * comes after all five phases, so it is re-used only where every phase may be.
 */
export function mayReuseGroup(
  reuse: Reuse | null | undefined,
  group: GroupPhase,
  part: "rollout" | "verdict",
): boolean {
  if (group === "evaluate") return reuse != null && reuse.from === null;
  if (group === "probe") return mayReuse(reuse, "filter");
  return mayReuse(reuse, part === "rollout" ? "rollout" : "verify");
}
