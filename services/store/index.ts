/** The record: Postgres rows by domain keys, and artifacts by their content. */
export {
  type ArtifactStore,
  createLocalArtifacts,
  getJson,
  putJson,
  sha256Of,
} from "./artifacts.ts";
export { type Budget, readBudget, type Spent, spendBudget } from "./budget.ts";
export { differingPaths, hashJson } from "./canonical.ts";
export { connectDatabase, type DatabaseOptions, type Db, describeUrl, openDatabase } from "./database.ts";
export { type RolloutDetail, showRollout, showTask, type TaskDetail } from "./details.ts";
export { type DiskWatermark, requireDisk } from "./disk.ts";
export { ArtifactError, type ArtifactErrorKind, StoreError, type StoreErrorKind } from "./errors.ts";
export { type EvaluationPlan, latestRate, planEvaluation } from "./evaluation-plan.ts";
export { recordEvent } from "./events.ts";
export {
  createExperiment,
  type ExperimentResult,
  type ExperimentRow,
  getExperiment,
  type IterationRow,
  type NewExperiment,
  recordIteration,
  setResult,
  setStatus,
} from "./experiments.ts";
export {
  type HoldState,
  holdExperiment,
  readHold,
  recordAmendments,
  recordRequest,
  releaseExperiment,
  type SteeringOnRecord,
  steeringOnRecord,
} from "./holds.ts";
export {
  addTry,
  countPieces,
  type FinishedPiece,
  findReplay,
  listPieces,
  listTries,
  type NewTry,
  type PieceCounts,
  type ReplayRecord,
  recordReuse,
  replayingAlone,
} from "./iteration-tries.ts";
export {
  type Attempt,
  appendTurn,
  closeSlot,
  completeTurn,
  countFailures,
  dropTurns,
  failAttempt,
  type LedgerRow,
  type OpenedAttempt,
  openAttempt,
  readLedger,
  type Slot,
  sealRollout,
} from "./ledger.ts";
export { type FoundPiece, findPiece, isWhole, type PieceKey, type PieceKind, recordPiece } from "./pieces.ts";
export {
  getPolicy,
  listPolicies,
  policyIteration,
  recordBatch,
  recordEvaluation,
  recordPolicy,
  recordUpdate,
  taskSetHash,
} from "./policies.ts";
export { type PoolProgress, type Progress, readProgress } from "./progress.ts";
export { recordedArtifacts } from "./recorded-artifacts.ts";
export { collectReport, type ReportData, type ReportExample } from "./report.ts";
export {
  findGroup,
  findRollout,
  type GroupRow,
  listRollouts,
  type RolloutRow,
  type RolloutVerdict,
  recordGroup,
  setVerdict,
} from "./rollouts.ts";
export { type Executor, insertOnce, type Row, upsert } from "./rows.ts";
export type { Database } from "./schema.ts";
export {
  type PassCounts,
  type PoolSeries,
  poolSeries,
  type TaskMix,
  taskMix,
  type UpdatePoint,
  updateSeries,
} from "./series.ts";
export { countExperimentStates, EXPERIMENT_STATES, type ExperimentState } from "./states.ts";
export {
  type EvaluationSummary,
  type ExperimentListItem,
  type ExperimentSummary,
  evaluationOf,
  type IterationSummary,
  listExperiments,
  type PoolSummary,
  showExperiment,
} from "./summary.ts";
export {
  findTaskSet,
  getStatement,
  getTask,
  type ProbeRow,
  recordEnvironment,
  recordProbe,
  recordStatement,
  recordTask,
  recordTaskSet,
  recordValidation,
  type TaskRow,
  type ValidationRow,
} from "./tasks.ts";
export type { PhaseTime } from "./timeline.ts";
export { findVerdict, type GradedRollout, type RolloutSlot, takeOverRollout } from "./tries.ts";
export { readTry, type TryRecord } from "./try-record.ts";
export {
  readProgressMark,
  recentCollapse,
  recentInfrastructureFailures,
} from "./watch.ts";
