/** slime as a trainer, experimental: what a job is asked for and what it is believed. The shim that its processes import is in `shim/`. */
export { nextUpdate, ROLLOUT_FUNCTION, type SlimeJob, type SlimeMode, slimeArguments } from "./arguments.ts";
export { type Acknowledged, acknowledge, trainedThrough } from "./progress.ts";
