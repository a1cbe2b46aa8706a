/**
 * What a worker and a trainer process say to each other: JSON, one object per line, over a Unix domain socket in the session's folder. A
 * process that outlives its worker is found again by `session.json` there; an update is found again by its key.
 */
import type { UpdateMetrics, UpdateSettings } from "./trainer.ts";

/**
 * A trainer process is started in its session's folder as `<command> --session FOLDER --dtype float32|bfloat16 --pack-tokens N
 * --gradient-checkpointing on|off [--cpu]`, with its token in the environment variable `TADPOLE_TRAINER_TOKEN`; what it prints is its log. It makes
 * the folder of a socket itself where FOLDER is too long for one (107 bytes).
 */
export const TOKEN_VARIABLE = "TADPOLE_TRAINER_TOKEN";

/** `session.json`: written, by rename, once the process listens. */
export interface SessionFile {
  readonly pid: number;
  /** Start time of the process in clock ticks since boot (/proc/<pid>/stat, field 22): a pid alone may be another's by now. */
  readonly started: number;
  /** Every request carries it; 32 hex digits, drawn by the worker that starts the process. */
  readonly token: string;
  readonly socket: string;
  readonly trainer: string;
}

export type TrainerRequest = { readonly id: number; readonly token: string } & (
  | { readonly op: "hello" }
  | ({ readonly op: "update" } & UpdateOrder)
  /** Ends the process once it is idle, with exit code 0. */
  | { readonly op: "stop" }
);

/** The same key is the same update: one in progress is joined, one that is made is answered from its folder. */
export interface UpdateOrder {
  /** sha256 over parent, batch and settings. */
  readonly key: string;
  /** Folders and file, absolute. */
  readonly parent: string;
  /** Optimizer state of the parent; null = fresh. */
  readonly optimizer: string | null;
  readonly batch: string;
  /** Made by rename when it is whole: `model/`, `optimizer/` and `checkpoint.json` (`TrainedFile`), written last. */
  readonly out: string;
  readonly settings: Omit<UpdateSettings, "freshOptimizer">;
}

/** `checkpoint.json` of an update's folder. */
export interface TrainedFile {
  readonly format: "tadpole-trained";
  readonly version: 1;
  readonly key: string;
  readonly step: number;
  readonly metrics: UpdateMetrics;
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
}

export type TrainerEvent = { readonly id: number } & (
  | {
      readonly event: "hello";
      readonly trainer: string;
      readonly version: string;
      /** Names of the devices; empty = CPU. */
      readonly devices: readonly string[];
      /** Key of the update in progress. */
      readonly busy: string | null;
    }
  | { readonly event: "progress"; readonly done: number; readonly total: number }
  | { readonly event: "done"; readonly trained: TrainedFile }
  /** `kind` as TrainerErrorKind, but for what only the worker sees (`dead`, `stalled`, `untrained`). */
  | {
      readonly event: "failed";
      readonly kind: "batch" | "model" | "diverged" | "memory" | "disk" | "collective" | "internal";
      readonly message: string;
    }
);
