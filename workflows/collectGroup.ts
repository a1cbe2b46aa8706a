/** A group: rollouts of one task by one policy, then their verdicts. A slot is filled again until it holds a sample. */
import type { GroupInput, VerifyOutput } from "../activities/types.ts";
import { type GroupPlan, nextSize } from "../core/groups.ts";
import { noteAttributes } from "./attributes.ts";
import { sandboxes } from "./config.ts";

export interface CollectGroupInput {
  /** Its size is that to begin with. */
  readonly group: GroupInput;
  /** Members before this one are on record; absent = none. */
  readonly from?: number;
}

export interface CollectedGroup extends VerifyOutput {
  /** The failure that a rollout was tried again for; null when each came at the first try. */
  readonly failure: string | null;
}

/** One that may have grown. */
export interface GrownGroup extends CollectedGroup {
  /** Of the rollouts that it began with: they were chosen by nothing that came of them. Absent = of all. */
  readonly first?: { readonly passes: number; readonly size: number };
}

/** Infrastructure failures are no sample: the activity counts them, and holds the experiment when a slot has had too many. */
export async function collect(input: CollectGroupInput): Promise<CollectedGroup> {
  const { group, from = 0 } = input;
  const members = Array.from({ length: group.size - from }, (_, n) => from + n);
  const rollouts = await Promise.all(members.map((member) => sandboxes.rollout({ group, member })));
  const verified = await sandboxes.verify(group);
  return { ...verified, failure: rollouts.findLast((rollout) => rollout.failure != null)?.failure ?? null };
}

export interface GrowGroupInput {
  readonly group: GroupInput;
  readonly plan?: GroupPlan;
}

/** A whole group as a workflow of its own, `…/group/<update>-<n>`; without a plan its size is fixed. */
export async function collectGroup(input: GrowGroupInput): Promise<GrownGroup> {
  const { group, plan } = input;
  const first = await collect({ group });
  const grown = plan === undefined ? first : await grow(group, plan, first);
  noteAttributes({ outcome: grown.zeroVariance ? "uniform" : "mixed" });
  return grown;
}

/** Members are added at the end, so that what is there stays as it was recorded. */
async function grow(group: GroupInput, plan: GroupPlan, first: CollectedGroup): Promise<GrownGroup> {
  let { failure } = first;
  let grown = first;
  for (;;) {
    const size = nextSize(plan, grown.passes, grown.size);
    if (size === grown.size) return { ...grown, failure, first: { passes: first.passes, size: first.size } };
    grown = await collect({ group: { ...group, size }, from: grown.size });
    failure = grown.failure ?? failure;
  }
}
