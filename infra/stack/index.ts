/** The stack: Temporal, Postgres, policy server and workers as supervised processes of one data folder. */
export { freeMb, prepareDataFolder } from "./data-folder.ts";
export { StackError, type StackErrorKind } from "./errors.ts";
export { startExtraWorker } from "./extra-worker.ts";
export { type GpuWorkerOptions, gpuWorkerEnvironment, startGpuWorker } from "./gpu-worker.ts";
export { type StackLock, takeLock } from "./lock.ts";
export { dataFolder, heldDownFile, packageRoot, stackFiles } from "./paths.ts";
export { type PortName, stackPorts } from "./ports.ts";
export { postgresPrograms } from "./postgres.ts";
export { residentMb } from "./proc.ts";
export { ensureSearchAttributes, searchAttributes } from "./search-attributes.ts";
export { databaseUrl, hostOptions, type StackSettings, stackSettings } from "./settings.ts";
export { type EnsureOptions, ensureStack, type StackProgress } from "./start.ts";
export {
  type ProcessName,
  type ProcessState,
  readStack,
  type StackState,
  type TemporalSettings,
} from "./state.ts";
export { type CpuShare, type ProcessStatus, type StackStatus, stackStatus } from "./status.ts";
export { type StopResult, stopStack } from "./stop.ts";
export {
  connectionOptions,
  connectTemporal,
  connectWorker,
  type TemporalClient,
  temporalFromEnv,
  temporalProgram,
} from "./temporal.ts";
export {
  type MetricsAddress,
  metricsAddress,
  type WorkerVersioning,
  workerVersioning,
} from "./worker-settings.ts";
