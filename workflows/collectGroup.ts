/** A group: rollouts of one task by one policy, then their verdicts. A slot is filled again until it holds a sample. */
import type { GroupInput, VerifyOutput } from "../activities/types.ts";
import { sandboxes, withSummary } from "./config.ts";

export interface CollectGroupInput {
  readonly group: GroupInput;
}

/** Infrastructure failures are no sample: the activity counts them, and holds the experiment when a slot has had too many. */
export async function collect(input: CollectGroupInput): Promise<VerifyOutput> {
  const { group } = input;
  const members = Array.from({ length: group.size }, (_, member) => member);
  await Promise.all(
    members.map((member) =>
      sandboxes.rollout.executeWithOptions(
        withSummary(
          "sandbox",
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
