/** The one module every face calls. */

export { checkEnvironments, checkPolicy, codeVersion } from "./checks.ts";
export { diffTries, type Part, type TryDiff } from "./diff.ts";
export { type EvaluationRequest, evaluate } from "./evaluate.ts";
export {
  isRunning,
  type LoadedExperiment,
  loadExperiment,
  outcome,
  type StartResult,
  startExperiment,
} from "./experiments.ts";
export {
  type PlannedPieces,
  planReplay,
  ReplayError,
  type ReplayErrorKind,
  type ReplayOptions,
  type ReplayPlan,
  startReplay,
} from "./replay.ts";
export {
  createSchedule,
  deleteSchedule,
  listSchedules,
  type NewSchedule,
  OVERLAPS,
  pauseSchedule,
  resumeSchedule,
  type ScheduledWork,
  ScheduleError,
  type ScheduleErrorKind,
  type ScheduleView,
  showSchedule,
  triggerSchedule,
} from "./schedules.ts";
export { type Session, withRecord, withStack } from "./session.ts";
export {
  amendExperiment,
  pauseExperiment,
  resumeExperiment,
  SteeringError,
  type SteeringErrorKind,
  skipPhase,
  steeringState,
  stopExperiment,
} from "./steering.ts";
