/** The words by which the record says where something stands: what is written, what lists are filtered by, and nothing else. */

export const EXPERIMENT_STATUSES = ["running", "done", "failed", "stopped"] as const;
export type ExperimentStatus = (typeof EXPERIMENT_STATUSES)[number];

/** Of a try of an iteration. `pending`: a replay was asked for and has not begun; one that failed goes on from its record when it is run again. */
export const ITERATION_STATUSES = ["pending", "pool", "climb", "select", "finished", "failed"] as const;
export type IterationStatus = (typeof ITERATION_STATUSES)[number];

/** Of a task: in a pool; given up by the filter; probed, and worded or made anew since; not probed. */
export const TASK_OUTCOMES = ["admitted", "dropped", "revised", "unprobed"] as const;
export type TaskOutcome = (typeof TASK_OUTCOMES)[number];

/** What a group of rollouts is for; a checkpoint that stands for election is evaluated, too. */
export const GROUP_PHASES = ["probe", "climb", "evaluate"] as const;
export type GroupPhase = (typeof GROUP_PHASES)[number];
