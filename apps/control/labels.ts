/** A task in full, with what its labels are still worth: each probe is of one policy, and an experiment goes on to others. */
import { settingsAt } from "../../core/experiment.ts";
import { type LabelBasis, type LabelStanding, labelStanding } from "../../core/label.ts";
import { HARNESS_VERSION } from "../../services/harness/index.ts";
import {
  type ArtifactStore,
  type Db,
  hashJson,
  planPolicy,
  StoreError,
  showTask as showTaskOf,
  type TaskDetail,
} from "../../services/store/index.ts";

export interface LabelledTask extends TaskDetail {
  readonly probes: readonly (TaskDetail["probes"][number] & {
    /** Against the policy that the probe's experiment chose last, and the settings that its next iteration has; null where there is none. */
    readonly label: LabelStanding | null;
  })[];
}

type Present = Pick<LabelBasis, "policy" | "limits" | "sampling">;

/** Statements, gates and probes. Throws StoreError `missing`, ArtifactError. */
export async function showTask(
  { db, artifacts }: { readonly db: Db; readonly artifacts: ArtifactStore },
  id: string,
): Promise<LabelledTask> {
  const detail = await showTaskOf(db, artifacts, id);
  const hashes = new Map(detail.statements.map(({ level, hash }) => [level as number, hash]));
  const experiments = [...new Set(detail.probes.map(({ scope }) => experimentOf(scope)))];
  const presents = new Map(
    await Promise.all(experiments.map(async (name) => [name, await presentOf(db, name)] as const)),
  );
  return {
    ...detail,
    probes: detail.probes.map((probe) => {
      const present = presents.get(experimentOf(probe.scope)) ?? null;
      const statement = hashes.get(probe.level) ?? "";
      const now = present && { task: id, statement, harness: HARNESS_VERSION, ...present };
      const made = { key: probe.label_key, policy: probe.policy };
      return { ...probe, label: now && labelStanding(made, now, hashJson) };
    }),
  };
}

/** Of `<experiment>/it/<i>/try/<k>`. */
const experimentOf = (scope: string): string => scope.split("/")[0]!;

async function presentOf(db: Db, experiment: string): Promise<Present | null> {
  try {
    const { policy, settings, scope } = await planPolicy(db, { experiment, policy: "latest" });
    const { limits, sampling } = settingsAt(settings, scope.iteration + 1).rollout;
    return { policy: policy.id, limits, sampling };
  } catch (error) {
    if (error instanceof StoreError && error.kind === "missing") return null;
    throw error;
  }
}
