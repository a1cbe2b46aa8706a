/** The workflows of the Temporal bench: the loop's own `collectGroup`, started as children the way `climb` starts them. */
import { executeChild } from "@temporalio/workflow";
import { type CollectGroupInput, collectGroup } from "../workflows/collectGroup.ts";
import { mapWindow } from "../workflows/window.ts";

export { collectGroup };

/** `window` groups at once. */
export async function collectGroups(groups: readonly CollectGroupInput[], window: number): Promise<void> {
  await mapWindow(groups, window, (input) =>
    executeChild(collectGroup, { workflowId: input.group.key, args: [input] }),
  );
}
