/** The one module every face calls. */

export { isPinnedBenchmark } from "./benchmarks.ts";
export { checkEnvironments, checkPolicy, codeVersion } from "./checks.ts";
export {
  type ArmNames,
  type ComparedPool,
  type Comparison,
  compareExperiments,
  unfinished,
} from "./compare.ts";
export { showCost } from "./cost.ts";
export { PageError, type PageErrorKind } from "./cursors.ts";
export { diffTries, type Part } from "./diff.ts";
export { listServed, type ServedEngine } from "./engines.ts";
export {
  type EvaluationId,
  type EvaluationState,
  evaluationState,
  SAMPLES_LIMIT,
  startEvaluation,
} from "./evaluate.ts";
export {
  isRunning,
  type LoadOptions,
  loadExperiment,
  outcome,
  overridesOf,
  startExperiment,
} from "./experiments.ts";
export { type ExportMarker, type ExportRequest, exportAtif, exportHarbor } from "./export.ts";
export {
  COUNT_LIMIT,
  FILTER_WORD,
  FILTERS,
  type Filter,
  type FilterValues,
  PAGE_LIMIT,
  readCount,
  readFilter,
} from "./filters.ts";
export { collect } from "./gc.ts";
export {
  type ImportDetail,
  type ImportRemoval,
  type ImportReport,
  type ImportRequest,
  importsPage,
  importTasks,
  type Refusal,
  removeImported,
  showImport,
} from "./imports.ts";
export { type ImportProof, verifyImport } from "./imports-verify.ts";
export {
  type LabelledLineage,
  type LabelledReport,
  type LabelledTask,
  readReport,
  showTask,
} from "./labels.ts";
export {
  evaluationsPage,
  eventId,
  eventsAfter,
  experimentsPage,
  iterationsPage,
  type ListPage,
  type ListRequest,
  policiesPage,
  rolloutsPage,
  tasksPage,
} from "./pages.ts";
export { type PricedPool, showPools } from "./pool.ts";
export {
  experimentProgress,
  experimentSettings,
  exportPolicy,
  showExperiment,
  showPolicy,
  showRollout,
} from "./records.ts";
export {
  type ChangedVerdict,
  listExperimentRegrades,
  type RegradeReport,
  type RegradeRun,
  regrade,
} from "./regrade.ts";
export { replayCounts, startReplay } from "./replay.ts";
export {
  type PlannedPieces,
  planReplay,
  ReplayError,
  type ReplayErrorKind,
  type ReplayOptions,
} from "./replay-plan.ts";
export {
  createSchedule,
  deleteSchedule,
  type NewSchedule,
  OVERLAPS,
  pauseSchedule,
  resumeSchedule,
  type ScheduledWork,
  ScheduleError,
  type ScheduleErrorKind,
  type ScheduleView,
  schedulesPage,
  showSchedule,
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
export { type Triggered, triggerSchedule } from "./trigger.ts";
export { startTrial, type TrialChoices, trialOutcome } from "./try.ts";
