/** The record: Postgres rows by domain keys, and artifacts by their content. */

export { hashJson } from "../hashing/index.ts";
export { findAnswer } from "./answers.ts";
export { sha256Of } from "./artifact-files.ts";
export { type ArtifactStore, createLocalArtifacts, getJson, putJson } from "./artifacts.ts";
export { differingPaths } from "./canonical.ts";
export { comparedRecord, type PoolStatistics } from "./comparison.ts";
export { type CostRecord, type GeneratorYield, readCost } from "./cost.ts";
export { connectDatabase, type Db, describeUrl, openDatabase } from "./database.ts";
export { type RolloutDetail, showRollout, showTask, type TaskDetail } from "./details.ts";
export { type DiskWatermark, requireDisk } from "./disk.ts";
export {
  askPublication,
  type EngineRow,
  listEngines,
  recordEngine,
  recordGood,
  withEngines,
} from "./engines.ts";
export { experimentsUsing } from "./environment-use.ts";
export { ArtifactError, type ArtifactErrorKind, StoreError, type StoreErrorKind } from "./errors.ts";
export { type EvaluationPlan, latestRate, planEvaluation, planPolicy } from "./evaluation-plan.ts";
export { recordEvent } from "./events.ts";
export {
  createExperiment,
  type ExperimentRow,
  getExperiment,
  type IterationRow,
  recordIteration,
  setResult,
  setStatus,
} from "./experiments.ts";
export { admittedTasks, type ExperimentRollout, experimentRollouts } from "./exports.ts";
export { type FailingGroup, failingGroups, recentFailures, recordFailures } from "./failures.ts";
export {
  holdExperiment,
  readHold,
  recordAmendments,
  recordRequest,
  releaseExperiment,
  steeringOnRecord,
} from "./holds.ts";
export {
  getImport,
  type ImportOutcome,
  type ImportRow,
  importKey,
  type NewImport,
  type ProvenImport,
  provenImports,
  recordImport,
} from "./imports.ts";
export { type RemovedImport, removeImport } from "./imports-remove.ts";
export {
  addTry,
  countPieces,
  type FinishedPiece,
  findReplay,
  listPieces,
  listTries,
  type ReplayRecord,
  recordReuse,
  replayingAlone,
} from "./iteration-tries.ts";
export {
  appendTurn,
  closeSlot,
  completeTurn,
  countFailures,
  dropTurns,
  failAttempt,
  type LedgerRow,
  openAttempt,
  readLedger,
  type Slot,
  sealRollout,
} from "./ledger.ts";
export {
  type Lineage,
  type MeasuredRate,
  taskLineage,
} from "./lineage.ts";
export { describeArtifacts, openArtifacts, openInventory } from "./open-artifacts.ts";
export { findOwnPiece, findPiece, isWhole, type PieceKind, recordPiece } from "./pieces.ts";
export { getPolicy, recordBatch, recordEvaluation, recordPolicy, recordUpdate } from "./policies.ts";
export { type Churn, type PoolView, poolViews } from "./pool-view.ts";
export { poolOf } from "./pools.ts";
export { type Progress, readProgress } from "./progress.ts";
export { recordedArtifacts } from "./recorded-artifacts.ts";
export {
  alone,
  endRegrade,
  type GradedRow,
  listGraded,
  listRegradeRuns,
  listRegrades,
  openRegrade,
  type Regraded,
  type RegradeRow,
  type RegradeRun,
  recordRegrade,
} from "./regrades.ts";
export { collectReport, type InForce, type ReportData, type ReportExample } from "./report.ts";
export type { ReportTask, ReportTasks } from "./report-tasks.ts";
export { readRetries, spendRetry } from "./retries.ts";
export {
  findGroup,
  findRollout,
  listRollouts,
  type RolloutRow,
  recordGroup,
  setVerdict,
} from "./rollouts.ts";
export { insertOnce, type Row, upsert } from "./rows.ts";
export {
  type PoolSeries,
  poolSeries,
  type TaskMix,
  taskMix,
  type UpdatePoint,
  updateSeries,
} from "./series.ts";
export { spendBooks } from "./spend.ts";
export { countExperimentStates, EXPERIMENT_STATES, type ExperimentState } from "./states.ts";
export {
  type EvaluationSummary,
  type ExperimentSummary,
  evaluationOf,
  type IterationSummary,
  listExperiments,
  showExperiment,
} from "./summary.ts";
export {
  findTaskSet,
  getStatement,
  getTask,
  keepEarlierForm,
  keepRefusedForm,
  recordEnvironment,
  recordProbe,
  recordStatement,
  recordTask,
  recordTaskSet,
  recordValidation,
  validationEvidence,
} from "./tasks.ts";
export type { PhaseTime } from "./timeline.ts";
export { planTrial } from "./trial-plan.ts";
export { findVerdict, type GradedRollout, takeOverRollout } from "./tries.ts";
export { readTry, type TryRecord } from "./try-record.ts";
export { addSandboxSeconds, requireBudget, type SandboxUse } from "./usage.ts";
export {
  readProgressMark,
  recentCollapse,
  recentInfrastructureFailures,
} from "./watch.ts";
