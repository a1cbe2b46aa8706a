/** What activities call: the services of one worker process, put together by `workers/`. */

import type { ArtifactRef } from "../core/artifact.ts";
import type { ExperimentSettings } from "../core/experiment.ts";
import type { PolicyKind, PolicyRef } from "../core/policy.ts";
import type { PreparedEnvironment } from "../services/environments/types.ts";
import type { GradingService } from "../services/grading/types.ts";
import type { CommandCache } from "../services/harness/types.ts";
import type { PolicyClient } from "../services/policy/client.ts";
import type { PolicyTemplate } from "../services/policy/template.ts";
import type { SandboxRuntime } from "../services/sandbox/runtime.ts";
import type { ArtifactStore, Db, DiskWatermark } from "../services/store/index.ts";
import type { SynthesisService } from "../services/synthesis/types.ts";
import type { Trainer } from "../services/trainers/trainer.ts";

export type PolicyServerSettings = ExperimentSettings["policy"];

export interface PolicyAccess {
  client(server: PolicyServerSettings): PolicyClient;
  /** Of an engine kind: by the tokenizer and chat template of the checkpoint. */
  template(policy: PolicyRef, server: PolicyServerSettings): Promise<PolicyTemplate>;
  /** Loads the policy on the server and returns once the server proves that it serves it. To engines only the worker beside them can. */
  publish(policy: PolicyRef, server: PolicyServerSettings, signal?: AbortSignal): Promise<void>;
}

export interface EnvironmentAccess {
  /** Prepares it if needed. */
  prepare(name: string, repeats: number, signal: AbortSignal): Promise<PreparedEnvironment>;
  byKey(key: string): Promise<PreparedEnvironment>;
  /**
   * For results that a broken environment could be to blame for. Throws EnvironmentError `missing`, `damaged` or `tests-fail` where it no longer is
   * what was prepared; the next preparation then makes it anew.
   */
  check(key: string): Promise<void>;
}

/** Every worker has the record. */
export interface RecordServices {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
  readonly policy: PolicyAccess;
  /** Where this worker writes; null = its disk is not watched. */
  readonly disk: DiskWatermark | null;
}

/** Whatever looks after experiments also asks Temporal about them. */
export interface WatchServices extends Pick<RecordServices, "db" | "disk"> {
  /** Activities of the experiment that a worker is busy with, but for those that only look on. */
  startedActivities(experiment: string): Promise<number>;
}

/** What work in the sandboxes of one runtime is done with. */
export interface SandboxKit {
  readonly environments: EnvironmentAccess;
  readonly runtime: SandboxRuntime;
  readonly grading: GradingService;
  readonly synthesis: SynthesisService;
  /** Command results by (environment, tree, command), for settings that allow re-use. */
  readonly commandCache: (environmentKey: string) => CommandCache;
}

export interface SandboxServices extends RecordServices, SandboxKit {}

export interface StartInput {
  readonly kind: PolicyKind;
  readonly seed: number;
  /** Of a stand-in. */
  readonly passRates: readonly number[] | null;
  /** Folder of the start weights, of an engine kind. */
  readonly model: string | null;
}

export interface GpuServices extends RecordServices {
  readonly trainer: Trainer;
  /** The start checkpoint: pretrained weights, fresh optimizer state. Throws TrainerError `model` for a folder that is none. */
  startCheckpoint(from: StartInput): Promise<ArtifactRef>;
}
