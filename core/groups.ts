/**
 * How many rollouts a group holds, which of them are trained on, and how many an iteration may spend (docs/method.md §6). Sizes are decided from
 * results in the order of the members, so that neither the order of arrival nor concurrency changes them.
 */
import type { ExperimentSettings } from "./experiment.ts";

export interface GroupPlan {
  /** fixed: `size` rollouts; dynamic: more until they are mixed; balanced: more until they can be cut to `size` evenly. */
  readonly kind: "fixed" | "dynamic" | "balanced";
  /** Rollouts to begin with, and of each refill. */
  readonly size: number;
  readonly maxSize: number;
}

/** Settings of before there were kinds of groups have fixed ones. */
export function groupPlan({ climb }: Pick<ExperimentSettings, "climb">): GroupPlan {
  const { groupSize: size } = climb;
  const { kind, maxSize } = (climb.groups as ExperimentSettings["climb"]["groups"] | undefined) ?? {
    kind: "fixed",
    maxSize: size,
  };
  return { kind, size, maxSize: kind === "fixed" ? size : maxSize };
}

/** Of each side of a balanced group. */
const half = (size: number): number => Math.floor(size / 2);

/** What a group grows to once it has that many passes of `runs`; `runs` itself = it is complete. */
export function nextSize(plan: GroupPlan, passes: number, runs: number): number {
  if (runs < plan.size) return plan.size;
  const fewer = Math.min(passes, runs - passes);
  const wanted = plan.kind === "balanced" ? half(plan.size) : 1;
  if (plan.kind === "fixed" || fewer >= wanted) return runs;
  return Math.max(runs, Math.min(runs + plan.size, plan.maxSize));
}

/**
 * Members that a group is trained on, in order, by their raw rewards. A balanced group is cut to `size`: of the rarer outcome the first half of `size`
 * at most, of the other the first ones that make it up. Which of equal outcomes are kept depends on nothing but their index, so on nothing that
 * they did. Every other group is trained on whole.
 */
export function trainedMembers(plan: Pick<GroupPlan, "kind" | "size">, raw: readonly (0 | 1)[]): number[] {
  const members = raw.map((_, member) => member);
  if (plan.kind !== "balanced" || raw.length <= plan.size) return members;
  const passed = members.filter((member) => raw[member] === 1);
  const failed = members.filter((member) => raw[member] === 0);
  const [rarer, other] = passed.length <= failed.length ? [passed, failed] : [failed, passed];
  const kept = rarer.slice(0, half(plan.size));
  return [...kept, ...other.slice(0, plan.size - kept.length)].sort((a, b) => a - b);
}

/** What a pool depends on. */
type PoolSettings = Pick<ExperimentSettings, "filter" | "synthesis">;

/** Rollouts that the probes and hints of one candidate take at most: each statement above `synthesis.maxLevel` is a hint. */
export function candidateRollouts({ filter, synthesis }: PoolSettings): number {
  if (!filter.enabled) return 0;
  const hints = filter.hintLadder === true ? 3 - synthesis.maxLevel : 0;
  return filter.probes * (filter.maxRefinements + 1 + hints);
}

/** Rollouts of an update at most, where it samples `groups` groups. */
export function updateRollouts(settings: Pick<ExperimentSettings, "climb">, groups: number): number {
  return groups * groupPlan(settings).maxSize;
}

/** The least that an iteration must be allowed, so that its climb makes an update whatever its probes come to. */
export function leastRollouts(settings: PoolSettings & Pick<ExperimentSettings, "climb">): number {
  return candidateRollouts(settings) + updateRollouts(settings, settings.climb.tasksPerBatch);
}

/** Whether another candidate may be read: its probes, its hints and then one update still fit. */
export function poolMayGoOn(
  settings: PoolSettings & Pick<ExperimentSettings, "climb">,
  probeRollouts: number,
): boolean {
  const { rolloutBudget = null } = settings.climb as { readonly rolloutBudget?: number | null };
  return rolloutBudget === null || probeRollouts + leastRollouts(settings) <= rolloutBudget;
}
