/** One experiment, task, rollout or policy of the record in full. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { Hold } from "../../core/steering.ts";
import {
  type ArtifactStore,
  type Db,
  getExperiment,
  getPolicy,
  type Progress,
  readHold,
  readProgress,
  showExperiment as showExperimentOf,
  showRollout as showRolloutOf,
} from "../../services/store/index.ts";

interface Context {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
}
type Reading = Pick<Context, "db">;

/** Evaluations, pools, policy and timings. Throws StoreError `missing`. */
export const showExperiment = ({ db }: Reading, name: string) => showExperimentOf(db, name);

/** Throws StoreError `missing`. */
export const experimentSettings = async ({ db }: Reading, name: string): Promise<ExperimentSettings> =>
  (await getExperiment(db, name)).settings as ExperimentSettings;

/** How far it is and what holds it; null for an unknown one. */
export async function experimentProgress(
  { db }: Reading,
  name: string,
): Promise<{ readonly progress: Progress; readonly hold: Hold | null } | null> {
  const progress = await readProgress(db, name);
  if (progress === null) return null;
  return { progress, hold: (await readHold(db, name))?.hold ?? null };
}

/** Trajectory, change and verdict. Throws StoreError `missing`, ArtifactError. */
export const showRollout = ({ db, artifacts }: Context, key: string) => showRolloutOf(db, artifacts, key);

/** Parent, step and checkpoint. Throws StoreError `missing`. */
export const showPolicy = ({ db }: Reading, id: string) => getPolicy(db, id);

/** The bytes of a policy's checkpoint (safetensors). Throws StoreError `missing`, ArtifactError. */
export const exportPolicy = async ({ db, artifacts }: Context, id: string): Promise<Uint8Array> =>
  artifacts.get((await getPolicy(db, id)).checkpoint);
