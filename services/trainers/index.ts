/** Trainers, and the batches they read. */
export { BatchError, type BatchRow, batchParts, type DecodedRow, decodeBatch, encodeBatch } from "./batch.ts";
export { type Device, findDevices } from "./devices.ts";
export { TrainerError } from "./errors.ts";
export { createNanoTrainer, type NanoTrainerServices } from "./nano/index.ts";
export { createProcessTrainer, type ProcessTrainerOptions } from "./process/index.ts";
export type { Trainer, UpdateMetrics, UpdateSettings } from "./trainer.ts";
