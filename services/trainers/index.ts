/** Trainers, and the batches they read. */
export {
  BatchError,
  type BatchErrorKind,
  type BatchRow,
  type DecodedRow,
  decodeBatch,
  encodeBatch,
} from "./batch.ts";
export { TrainerError, type TrainerErrorKind } from "./errors.ts";
export { createNanoTrainer, type NanoTrainerServices } from "./nano/index.ts";
export type { Trainer, UpdateMetrics, UpdateResult, UpdateSettings } from "./trainer.ts";
