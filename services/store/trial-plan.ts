/** What one rollout of a task by a policy needs, read from the record: it is asked for by hand, and belongs to no pool, climb or evaluation. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import { labelStanding } from "../../core/label.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { Scope } from "../../core/scope.ts";
import type { StatementLevel } from "../../core/task.ts";
import { hashJson } from "../hashing/index.ts";
import { StoreError } from "./errors.ts";
import { type PlannedPolicy, planPolicy } from "./evaluation-plan.ts";
import type { Executor } from "./rows.ts";
import { getTask } from "./tasks.ts";

export interface TrialPlan {
  readonly scope: Scope;
  readonly settings: ExperimentSettings;
  readonly policy: PolicyRef;
  readonly task: { readonly id: string; readonly environment: string };
  readonly level: StatementLevel;
}

export interface WantedTrial {
  readonly task: string;
  /** Absent = the latest whose candidate the task was. */
  readonly experiment?: string | undefined;
  /** An id, or `latest`. */
  readonly policy: string;
  /** Version of the harness that it is to run in. */
  readonly harness: string;
  /**
   * Absent = as the last probe had it whose label holds for this rollout, else as the experiment words its tasks first, else the most specific
   * there is.
   */
  readonly level?: number | undefined;
}

/** Throws StoreError `missing` for a task, experiment, policy or statement that is not there. */
export async function planTrial(db: Executor, wanted: WantedTrial): Promise<TrialPlan> {
  const { id, environment } = await getTask(db, wanted.task);
  const experiment = wanted.experiment ?? (await experimentThatMade(db, id));
  const planned = await planPolicy(db, { experiment, policy: wanted.policy });
  return { ...planned, task: { id, environment }, level: await levelOf(db, id, wanted, planned) };
}

async function experimentThatMade(db: Executor, task: string): Promise<string> {
  const rows = await db
    .selectFrom("validations")
    .select("scope")
    .where("task_id", "=", task)
    .orderBy("created_at", "desc")
    .orderBy("scope", "desc")
    .execute();
  const experiment = rows.flatMap(({ scope }) => /^([^/]+)\/it\//.exec(scope)?.[1] ?? [])[0];
  if (experiment === undefined)
    throw new StoreError(
      "missing",
      `task ${task} is in no pool of an experiment: name the experiment whose policy and limits are to be used`,
    );
  return experiment;
}

async function levelOf(
  db: Executor,
  task: string,
  { level, harness }: WantedTrial,
  { scope, settings, policy }: PlannedPolicy,
): Promise<StatementLevel> {
  const statements = await db
    .selectFrom("statements")
    .select(["level", "hash"])
    .where("task_id", "=", task)
    .orderBy("level")
    .execute();
  const levels = statements.map((row) => row.level);
  if (level !== undefined && !levels.includes(level))
    throw new StoreError(
      "missing",
      `task ${task} has no statement of level ${level}: there is ${levels.length === 0 ? "none" : levels.join(", ")}`,
    );
  const probes = await db
    .selectFrom("probes")
    .select(["level", "policy", "label_key"])
    .where("task_id", "=", task)
    .where((eb) => eb.fn<boolean>("starts_with", ["scope", eb.val(`${scope.experiment}/`)]))
    .orderBy("scope", "desc")
    .orderBy("refinement", "desc")
    .execute();
  const { limits, sampling } = settings.rollout;
  const probe = probes.find((each) => {
    const statement = statements.find((row) => row.level === each.level)?.hash ?? "";
    const now = { task, statement, policy: policy.id, harness, limits, sampling };
    return labelStanding({ key: each.label_key, policy: each.policy }, now, hashJson) === "valid";
  });
  const { startLevel } = settings.synthesis;
  const chosen = level ?? probe?.level ?? (levels.includes(startLevel) ? startLevel : levels.at(-1));
  if (chosen === undefined) throw new StoreError("missing", `task ${task} has no statement`);
  return chosen as StatementLevel;
}
