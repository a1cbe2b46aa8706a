/** Every workflow, by the name it is started with. */
export { calibrateTask } from "./calibrateTask.ts";
export { climb } from "./climb.ts";
export { climbAsync } from "./climbAsync.ts";
export { collectGroup } from "./collectGroup.ts";
export { evaluatePolicy } from "./evaluatePolicy.ts";
export { fillTaskPool } from "./fillTaskPool.ts";
export { prepareTaskSet } from "./prepareTaskSet.ts";
export { reapSandboxes } from "./reapSandboxes.ts";
export { runExperiment } from "./runExperiment.ts";
export { runIteration } from "./runIteration.ts";
export { scheduledRun } from "./scheduledRun.ts";
