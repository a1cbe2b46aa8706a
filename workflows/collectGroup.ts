/** A group: rollouts of one task by one policy, then their verdicts. Infrastructure failures are refilled, never scored. */
import type { GroupInput, VerifyOutput } from "../activities/types.ts";
import { rolloutOptions, sandboxes, withSummary } from "./config.ts";

/** `infrastructureRetries` bounds the attempts of each slot. */
export interface CollectGroupInput {
  readonly group: GroupInput;
  readonly infrastructureRetries: number;
}

export async function collect(input: CollectGroupInput): Promise<VerifyOutput> {
  const { group } = input;
  const members = Array.from({ length: group.size }, (_, member) => member);
  await Promise.all(
    members.map((member) =>
      sandboxes.rollout.executeWithOptions(
        rolloutOptions(
          input.infrastructureRetries,
          `rollout ${member + 1}/${group.size} of ${group.taskId} by ${group.policy.id}`,
        ),
        [{ group, member }],
      ),
    ),
  );
  return sandboxes.verify.executeWithOptions(
    withSummary("sandbox", `verify ${group.size} rollouts of ${group.taskId}`),
    [group],
  );
}

/** The same as a workflow of its own, `…/group/<update>-<n>`. */
export async function collectGroup(input: CollectGroupInput): Promise<VerifyOutput> {
  return collect(input);
}
