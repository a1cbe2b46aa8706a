/** A group: rollouts of one task by one policy, then their verdicts. A slot is filled again until it holds a sample. */
import type { GroupInput, VerifyOutput } from "../activities/types.ts";
import { noteAttributes } from "./attributes.ts";
import { sandboxes } from "./config.ts";

export interface CollectGroupInput {
  readonly group: GroupInput;
  /** Members before this one are on record; absent = none. */
  readonly from?: number;
}

export interface CollectedGroup extends VerifyOutput {
  /** The failure that a rollout was tried again for; null when each came at the first try. */
  readonly failure: string | null;
}

/** Infrastructure failures are no sample: the activity counts them, and holds the experiment when a slot has had too many. */
export async function collect(input: CollectGroupInput): Promise<CollectedGroup> {
  const { group, from = 0 } = input;
  const members = Array.from({ length: group.size - from }, (_, n) => from + n);
  const rollouts = await Promise.all(members.map((member) => sandboxes.rollout({ group, member })));
  const verified = await sandboxes.verify(group);
  return { ...verified, failure: rollouts.findLast((rollout) => rollout.failure != null)?.failure ?? null };
}

/** The same as a workflow of its own, `…/group/<update>-<n>`. */
export async function collectGroup(input: CollectGroupInput): Promise<CollectedGroup> {
  const collected = await collect(input);
  noteAttributes({ outcome: collected.zeroVariance ? "uniform" : "mixed" });
  return collected;
}
