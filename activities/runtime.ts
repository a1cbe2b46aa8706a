/** Which sandboxes the experiment of an activity runs in: it is on record, so that no workflow has to carry it. */
import { Context } from "@temporalio/activity";
import type { ExperimentSettings, SandboxRuntimeName } from "../core/experiment.ts";
import { experimentOf } from "../core/ids.ts";
import { type Db, getExperiment, StoreError } from "../services/store/index.ts";

/** Of an experiment that is not on record, and of work for none: `process`. */
export async function runtimeOfExperiment(db: Db): Promise<SandboxRuntimeName> {
  const experiment = experimentOf(Context.current().info.workflowExecution?.workflowId ?? "");
  if (experiment === null) return "process";
  try {
    const { settings } = await getExperiment(db, experiment);
    return (settings as ExperimentSettings).sandbox.runtime;
  } catch (error) {
    if (error instanceof StoreError && error.kind === "missing") return "process";
    throw error;
  }
}
