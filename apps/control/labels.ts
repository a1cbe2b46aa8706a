/** What labels are still worth, in a task in full and in a report: each probe is of one policy, and an experiment goes on to others. */
import { settingsAt } from "../../core/experiment.ts";
import { type LabelBasis, type LabelStanding, labelStanding } from "../../core/label.ts";
import { HARNESS_VERSION } from "../../services/harness/index.ts";
import {
  type ArtifactStore,
  collectReport,
  type Db,
  hashJson,
  type Lineage,
  planPolicy,
  type ReportData,
  type ReportTask,
  type ReportTasks,
  StoreError,
  showTask as showTaskOf,
  type TaskDetail,
} from "../../services/store/index.ts";

interface Labelled {
  /** Against the policy that the experiment chose last, and the settings that its next iteration has; null where there is none. */
  readonly label: LabelStanding | null;
}

export interface LabelledLineage extends Lineage {
  readonly revisions: readonly (Lineage["revisions"][number] & Labelled)[];
}

export interface LabelledTask extends TaskDetail {
  readonly probes: readonly (TaskDetail["probes"][number] & Labelled)[];
  readonly lineage: readonly LabelledLineage[];
}

export interface LabelledReport extends ReportData {
  readonly tasks: Omit<ReportTasks, "shown"> & {
    readonly shown: readonly (ReportTask & { readonly detail: LabelledTask })[];
  };
}

type Present = Pick<LabelBasis, "policy" | "limits" | "sampling">;

interface Context {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
}

/** Statements, gates and probes. Throws StoreError `missing`, ArtifactError. */
export async function showTask({ db, artifacts }: Context, id: string): Promise<LabelledTask> {
  const detail = await showTaskOf(db, artifacts, id);
  return labelled(detail, await presentsOf(db, [detail]));
}

/** Everything that an experiment's report shows. Throws StoreError `missing`. */
export async function readReport({ db, artifacts }: Context, experiment: string): Promise<LabelledReport> {
  const { tasks, ...report } = await collectReport(db, artifacts, experiment);
  const presents = await presentsOf(
    db,
    tasks.shown.map(({ detail }) => detail),
  );
  const shown = tasks.shown.map((task) => ({ ...task, detail: labelled(task.detail, presents) }));
  return { ...report, tasks: { ...tasks, shown } };
}

function labelled(detail: TaskDetail, presents: ReadonlyMap<string, Present | null>): LabelledTask {
  const { id } = detail.task;
  const hashes = new Map(detail.statements.map(({ level, hash }) => [level as number, hash]));
  const labelOf = (
    scope: string,
    made: { readonly key: string; readonly policy: string },
    of: Pick<LabelBasis, "task" | "statement">,
  ): LabelStanding | null => {
    const present = presents.get(experimentOf(scope)) ?? null;
    return present && labelStanding(made, { ...of, harness: HARNESS_VERSION, ...present }, hashJson);
  };
  return {
    ...detail,
    probes: detail.probes.map((probe) => {
      const made = { key: probe.label_key, policy: probe.policy };
      const of = { task: id, statement: hashes.get(probe.level) ?? "" };
      return { ...probe, label: labelOf(probe.scope, made, of) };
    }),
    lineage: detail.lineage.map((lineage) => ({
      ...lineage,
      revisions: lineage.revisions.map((revision) => {
        const { taskId, statement, policy, labelKey: key } = revision;
        const of = { task: taskId, statement: statement ?? "" };
        return { ...revision, label: labelOf(lineage.scope, { key, policy }, of) };
      }),
    })),
  };
}

/** By experiment. */
async function presentsOf(
  db: Db,
  details: readonly TaskDetail[],
): Promise<ReadonlyMap<string, Present | null>> {
  const scopes = details.flatMap(({ probes, lineage }) => [...probes, ...lineage].map(({ scope }) => scope));
  const experiments = [...new Set(scopes.map(experimentOf))];
  return new Map(
    await Promise.all(experiments.map(async (name) => [name, await presentOf(db, name)] as const)),
  );
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
