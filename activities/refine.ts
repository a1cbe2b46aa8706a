/** refine: writes the statement of another specificity level; patch and tests stay as they are (docs/method.md §3). */
import { recordStatement } from "../services/store/index.ts";
import { writeStatement } from "../services/synthesis/index.ts";
import type { RecordServices } from "./services.ts";
import { loadTask } from "./tasks.ts";
import type { RefineInput, RefineOutput } from "./types.ts";

export async function refine(services: RecordServices, input: RefineInput): Promise<RefineOutput> {
  const task = await loadTask(services, input.taskId);
  if (task.generator === "import")
    return { written: false, reason: "an imported task has the one statement of its source" };
  // The gate `leak` read every level before there was a task.
  await recordStatement(services.db, writeStatement(task, input.level));
  return { written: true, reason: null };
}
